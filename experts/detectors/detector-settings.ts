import type { AskOnce } from '../asking/ask-once.ts';
import type { ChatService } from '../llm/chat.ts';
import type { JudgingTask } from '../tasks/task-file.ts';

/** The input that a detector on language models is made from. */
export interface DetectorSettings<Options> {
  readonly options: Options;
  readonly task: JudgingTask;
  /** The service that sends the detector's calls. */
  readonly service: ChatService;
  /** Stores parts that judgements share beyond this process. Each is an annotation and counts as a judgement's part. */
  readonly askOnce?: AskOnce;
}
