/** How many replies the detector has seen; `all` is the whole thread. */
export type Replies = number | 'all';

/** The points of S2MAD's figure on early detection: the claim alone, then every tenth reply. */
export const earlyDetectionReplies: readonly Replies[] = [0, 10, 20, 30, 40, 50, 'all'];
