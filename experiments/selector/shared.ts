import { join } from 'node:path';
import { AnnotationStore } from '../../experts/annotations/annotation-store.ts';
import type { LiveChatService } from '../../experts/llm/sending/live-chat-service.ts';
import { makeFolder } from '../../src/atomic-file.ts';
import { createEncoder } from '../../src/text/create-encoder.ts';
import { EmbeddingStore } from '../../src/text/embedding-store.ts';
import { storedEncoders } from '../../src/text/stored-encoders.ts';
import type { WorkContext } from '../../src/work-context.ts';
import { loadAllThreads, loadSelectorData } from './data.ts';
import type { SelectorExperiment } from './experiment.ts';
import { chatServiceOf } from './models.ts';
import { type EventFold, eventFolds } from './protocol.ts';
import type { SelectorShared, SelectorTools } from './settings.ts';

export interface SelectorWorkshop {
  toolsFor(experiment: SelectorExperiment, context: WorkContext): Promise<SelectorTools>;
  /** The folds of an experiment that holds each event out in turn. */
  foldsFor(experiment: SelectorExperiment, context: WorkContext): Promise<readonly EventFold[]>;
  /** The tools and the experiment's data. */
  sharedFor(experiment: SelectorExperiment, context: WorkContext): Promise<SelectorShared>;
  close(): void;
}

/**
 * What the trials of a process share. Data, embeddings and services are each made once for each different configuration:
 * variants with another encoder or other data still draw on one budget, and all keep their answers in one store.
 */
export function selectorWorkshop({ runs }: { runs: string }): SelectorWorkshop {
  const cache = join(runs, 'cache');
  let annotations: AnnotationStore | null = null;
  const services = new Map<string, LiveChatService>();
  const data = new Map<string, ReturnType<typeof loadSelectorData>>();
  const embeddings = new Map<string, ReturnType<typeof openEmbeddings>>();
  const encoders = storedEncoders({ directory: join(cache, 'embeddings') });
  const shared = <T>(known: Map<string, T>, of: unknown, make: () => T): T => {
    const key = JSON.stringify(of);
    const made = known.get(key) ?? make();
    known.set(key, made);
    return made;
  };
  async function toolsFor(experiment: SelectorExperiment, context: WorkContext): Promise<SelectorTools> {
    const { budget, retry, encoder } = experiment;
    makeFolder(cache);
    annotations ??= AnnotationStore.open(join(cache, 'annotations.sqlite'));
    return {
      annotations,
      service: shared(services, [budget, retry], () => chatServiceOf(experiment, context.signal)),
      ...(await shared(embeddings, encoder, () => openEmbeddings(encoder, cache))),
      encoders,
      runs,
    };
  }
  return {
    toolsFor,
    async foldsFor({ data: of }, context) {
      return eventFolds(await loadAllThreads(of, context.onNote), of);
    },
    async sharedFor(experiment, context) {
      const of = [experiment.data, experiment.seedShare];
      const loaded = await shared(data, of, () => loadSelectorData(experiment, context.onNote));
      return { ...(await toolsFor(experiment, context)), data: loaded };
    },
    close() {
      annotations?.close();
      annotations = null;
    },
  };
}

async function openEmbeddings(config: SelectorExperiment['encoder'], cache: string) {
  const encoder = await createEncoder(config);
  return { encoder, embeddings: await EmbeddingStore.open({ encoder, directory: join(cache, 'embeddings') }) };
}
