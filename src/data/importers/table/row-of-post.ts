import type { Post, Thread } from '../../thread.ts';

/** What a row says. */
export interface RowOfPost {
  readonly place: string;
  /** Null where the row names none, which what it answers may tell. */
  readonly threadId: string | null;
  readonly postId: string | null;
  readonly post: Omit<Post, 'id'>;
  readonly labels: Pick<Thread, 'rumor' | 'veracity' | 'event' | 'split'>;
}

/** A row as a post of a thread. */
export type RowOfThread = Pick<RowOfPost, 'place' | 'labels'> & { readonly post: Post };
