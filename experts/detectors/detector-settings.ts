import type { AskOnce } from '../asking/ask-once.ts';
import type { ChatService } from '../llm/chat.ts';
import type { JudgingTask } from '../tasks/task-file.ts';

/** What a detector on language models is made of. */
export interface DetectorSettings<Options> {
  readonly options: Options;
  readonly task: JudgingTask;
  /** Sends its calls. */
  readonly service: ChatService;
  /**
   * Keeps what judgements share beyond this process. Such parts are then annotations of their own, and judgements count
   * them as parts.
   */
  readonly askOnce?: AskOnce;
}
