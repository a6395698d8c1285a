/*
 * What the script of a page reads: plain JSON, written by the server side and read by `browser/*.js`. No imports, so that the
 * browser's files can be checked against it.
 */

export interface PageData {
  /** The value that `--json` prints. */
  readonly results: unknown;
  readonly inspector?: InspectorData;
  readonly items?: readonly ListedItem[];
  /** Labels of the task, and transcripts with indices into them. */
  readonly transcripts?: { readonly labels: readonly string[]; readonly rows: readonly ShownTranscript[] };
}

/** Test threads post by post. */
export interface InspectorData {
  /** The labels of the task; all labels below are indices into them, −1 where an answer could not be read. */
  readonly labels: readonly string[];
  readonly threads: readonly ShownThread[];
  /** By seed. Runs of a seed whose detector said the same stand in one view, so that their agents can be compared. */
  readonly views: readonly InspectorView[];
  /** Labels that raise an alert: scores count at predictions of these alone. Null where any prediction may be early. */
  readonly alerts: readonly number[] | null;
  /** Seeds that would have made the page too large. */
  readonly leftOutSeeds: readonly number[];
}

/** The parts of a thread that all views share. */
export interface ShownThread {
  readonly id: string;
  readonly event: string | null;
  readonly gold: number;
  /** Posts in the thread; more than are shown where the page would have become too large. */
  readonly posts: number;
  /** Of the claim, ISO 8601; null where unknown. */
  readonly time: string | null;
  /** Hours since the claim of each shown post; null where unknown. */
  readonly hours: readonly (number | null)[];
  /** Of the posts that are shown; null where the thread could not be read. */
  readonly texts: readonly string[] | null;
}

export interface InspectorView {
  readonly seed: number;
  /** The agents stand first; lists are sorted by the one that is chosen. */
  readonly systems: readonly ShownSystem[];
  readonly rows: readonly InspectedThread[];
}

export interface ShownSystem {
  readonly name: string;
  /** `bound` sees the labels. */
  readonly kind: 'agent' | 'rule' | 'bound';
}

/** A thread as the systems of a view decided it. */
export interface InspectedThread {
  /** Index into the threads. */
  readonly thread: number;
  /** The detector's labels after each shown post. */
  readonly predicted: readonly number[];
  readonly confidence: readonly (number | null)[];
  /** The score after each shown post, for each agent in the order of the systems; null where a run did not keep it. */
  readonly stopProbability: readonly (readonly number[] | null)[];
  /** The thread is stopped where the score of an agent exceeds this. */
  readonly thresholds: readonly number[];
  /** 0-based post at which each system stops, and its answer there. */
  readonly stops: readonly number[];
  readonly answers: readonly number[];
  /** 0-based posts at which the experts would stop, where agents imitate them; null where they have no trajectory. */
  readonly experts?: {
    readonly conservative: number | null;
    readonly earlyAction: number | null;
    readonly misleading: number | null;
  };
  /** Of each agent, how sure the detector was of its answer where that is wrong; 0 where it is right. */
  readonly mistakes: readonly number[];
  /** Of each agent, the share of the other systems that answer otherwise; bounds do not count. */
  readonly disagreements: readonly number[];
  /** Debates of language models before the judgements at the agents' stops. */
  readonly debates: readonly Debate[];
}

export interface Debate {
  /** Length of the judged prefix. */
  readonly posts: number;
  readonly answer: number;
  readonly rounds: readonly ShownRound[];
  readonly explanation: string;
  /** Requests, tokens and money, in words. */
  readonly took: string;
}

/** A transcript of a detector about a thread, beside its true label. */
export interface ShownTranscript extends Debate {
  readonly detector: string;
  readonly thread: string;
  /** Of the claim; empty where the data could not be read. */
  readonly text: string;
  readonly gold: number;
}

/** A part of a transcript; texts that there are none of are empty. */
export interface ShownRound {
  readonly title: string;
  /** How many votes each answer has. */
  readonly votes: string;
  readonly turns: readonly {
    readonly role: string;
    readonly text: string;
    readonly vote: string;
    /** The model, requests, tokens and money, in words. */
    readonly took: string;
    readonly sources: readonly { readonly title: string; readonly date: string; readonly url: string }[];
  }[];
}

/** A claim or a post that a selector was shown. */
export interface ListedItem {
  readonly kind: 'post' | 'claim';
  readonly id: string;
  /** Null where the data could not be read. */
  readonly text: string | null;
  readonly label: string;
  readonly labelledBy: 'human' | 'machine';
  readonly confidence: number;
  readonly retainProbability: number;
  readonly retained: boolean;
  /** Whether the label is that of the data; null where the data has none. */
  readonly right: boolean | null;
  readonly explanation: string;
}
