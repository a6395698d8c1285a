/** The fields of a post and its thread that a column of a table may hold. */
export const tableFields = [
  'threadId',
  'postId',
  'title',
  'text',
  'time',
  'author',
  'parent',
  'rumor',
  'veracity',
  'label',
  'stance',
  'event',
  'split',
] as const;
export type TableField = (typeof tableFields)[number];

const names = (text: string): readonly string[] => text.split(' ');

/** Names that other programs and people have for the fields, in lower case and without punctuation. */
export const commonNames: Readonly<Record<TableField, readonly string[]>> = {
  threadId: names('thread threadid conversation conversationid claimid rootid sourceid ticketid caseid'),
  postId: names('postid id idstr tweetid tid statusid commentid messageid'),
  title: names('title'),
  text: names('text body content fulltext message tweet tweettext posttext'),
  time: names('time createdat timestamp date datetime created createdutc posttime postedat sentat'),
  author: names('author user username screenname userid authorid sender'),
  parent: [
    ...names('parent parentid replyto replytoid replytostatusid replytomessageid'),
    ...names('inreplyto inreplytostatusid inreplytostatusidstr inreplytoid inreplytotweetid inreplytopostid'),
  ],
  rumor: names('rumor rumour isrumor isrumour'),
  veracity: names('veracity verdict truthvalue'),
  label: names('label class target y'),
  stance: names('stance stancelabel'),
  event: names('event topic'),
  split: names('split fold subset partition'),
};
