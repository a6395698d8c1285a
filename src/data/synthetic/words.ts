import type { Random } from '../../tensor/random.ts';

/** The class a post speaks for, rightly or wrongly. */
export type Evidence = 'rumor' | 'nonRumor' | 'neutral';

const list = (words: string) => words.split(' ');

/** No word is in two lists, so that an encoder can tell the classes apart and evidence can be read back from a text. */
export const tellingWords: Readonly<Record<Exclude<Evidence, 'neutral'>, readonly string[]>> = {
  rumor: list(
    'fake hoax debunked fabricated photoshopped unverified false bogus misleading untrue doctored retracted denied ' +
      'rumour nonsense staged satire discredited baseless invented',
  ),
  nonRumor: list(
    'confirmed official verified authentic statement footage eyewitness reuters police spokesperson documented ' +
      'authorities genuine briefing evidence corroborated live transcript reporters hospital',
  ),
};

const chatter = list(
  'wow people really this today just now what happening everyone there think about still going know here thing ' +
    'world news hear someone place always never watch seems maybe again before after following thread hope safe ' +
    'heard time sad crazy please stay wonder anyone',
);
const offTopic = list(
  'giveaway playlist recipe football concert discount followers selfie horoscope lottery sneakers pizza puppy ' +
    'weekend birthday ringtone wallpaper coupon karaoke yoga',
);
/** Three words for each event. */
const topics = list(
  'bridge collapse river senator resignation ballot vaccine clinic outbreak airport runway pilot stadium crowd gate ' +
    'tunnel metro smoke museum theft painting factory chemical leak festival stage storm embassy visa protest ' +
    'reactor coolant alarm bank transfer outage',
);

/** The text of one post: chatter and words of the topic, and a few words that carry the evidence. */
export function writeText(
  post: { evidence: Evidence; distractor: boolean; event: number; claim: boolean },
  random: Random,
): string {
  const draw = (words: readonly string[], count: number) =>
    Array.from({ length: count }, () => words[random.integer(words.length)]);
  const words = draw(chatter, 4 + random.integer(5));
  if (post.distractor) words.push(...draw(offTopic, 3));
  else words.push(...draw(eventTopics(post.event), post.claim ? 3 : 1 + random.integer(2)));
  if (post.evidence !== 'neutral') words.push(...draw(tellingWords[post.evidence], 2 + random.integer(2)));
  const sentence = random.shuffled(words).join(' ');
  const end = ['.', '', '!', '?', '...'][random.integer(5)];
  return `${sentence[0].toUpperCase()}${sentence.slice(1)}${end}`;
}

/** The name of an event, from two of its words. */
export function eventName(event: number): string {
  return eventTopics(event).slice(0, 2).join('-');
}

function eventTopics(event: number): string[] {
  return topics.slice(3 * event, 3 * event + 3);
}
