import type { Random } from '../../tensor/random.ts';

/** Twelve invented events, each true as often as the others. */
export const stories: readonly {
  readonly name: string;
  /** First sentences of claims. */
  readonly claims: readonly string[];
  readonly places: readonly string[];
}[] = [
  {
    name: 'bridge-collapse',
    claims: ['The old bridge has fallen into the river.', 'BREAKING: the bridge over the river is gone.'],
    places: ['bridge', 'river', 'ferry'],
  },
  {
    name: 'senator-resignation',
    claims: ['The senator resigns tonight.', 'Hearing that the senator has left the ballot.'],
    places: ['senate', 'town hall', 'campaign office'],
  },
  {
    name: 'clinic-outbreak',
    claims: ['Forty people fell ill after the vaccine at the clinic.', 'The clinic has closed, an outbreak they say.'],
    places: ['clinic', 'pharmacy', 'ward'],
  },
  {
    name: 'airport-runway',
    claims: ['A plane left the runway at the airport.', 'The airport is shut, the pilot walked away.'],
    places: ['airport', 'runway', 'terminal'],
  },
  {
    name: 'stadium-crowd',
    claims: ['A gate gave way at the stadium, the crowd is running.', 'They stopped the match, the crowd broke in.'],
    places: ['stadium', 'gate', 'north stand'],
  },
  {
    name: 'metro-smoke',
    claims: ['Smoke in the metro tunnel, trains have stopped.', 'People walk through the metro tunnel in the dark.'],
    places: ['metro', 'tunnel', 'platform'],
  },
  {
    name: 'museum-theft',
    claims: ['The most famous painting of the museum is gone.', 'Thieves walked out of the museum at noon.'],
    places: ['museum', 'gallery', 'vault'],
  },
  {
    name: 'factory-leak',
    claims: ['A chemical leak at the factory, close your windows.', 'The factory is leaking, the water turned green.'],
    places: ['factory', 'harbour', 'school next to it'],
  },
  {
    name: 'festival-storm',
    claims: ['The storm took the main stage of the festival.', 'The festival is over, the stage came down.'],
    places: ['festival', 'stage', 'camp site'],
  },
  {
    name: 'embassy-protest',
    claims: ['The protest has reached the embassy.', 'The embassy stops all visas after the protest.'],
    places: ['embassy', 'square', 'visa office'],
  },
  {
    name: 'reactor-alarm',
    claims: ['The alarm at the reactor has been on for an hour.', 'The reactor lost its coolant this morning.'],
    places: ['reactor', 'power plant', 'control room'],
  },
  {
    name: 'bank-outage',
    claims: ['The bank lost every transfer of today.', 'No cash machine of the bank works any more.'],
    places: ['bank', 'branch office', 'cash machine'],
  },
];

/** The class that a post supports, rightly or wrongly. */
export type SyntheticEvidence = 'rumor' | 'nonRumor' | 'neutral';

type Telling = Exclude<SyntheticEvidence, 'neutral'>;

const list = (words: string) => words.split(' ');

/** The words for the braces in the sentences below. Evidence is read from these words; no other sentence has them. */
const slots: Readonly<Record<Telling, Readonly<Record<string, readonly string[]>>>> = {
  rumor: {
    untrue: list('fake false bogus untrue fabricated baseless misleading invented'),
    undone: list('debunked discredited denied retracted disproved'),
    made: list('photoshopped doctored staged edited recycled'),
    tale: list('hoax fabrication rumour satire nonsense'),
  },
  nonRumor: {
    sure: list('confirmed verified authentic genuine corroborated documented'),
    office: list('police authorities officials investigators'),
    witness: list('eyewitness reporter correspondent paramedic'),
    record: list('footage transcript statement briefing bulletin'),
  },
};

/** The words that show the evidence of a text. */
export const tellingWords: Readonly<Record<Telling, readonly string[]>> = {
  rumor: Object.values(slots.rumor).flat(),
  nonRumor: Object.values(slots.nonRumor).flat(),
};

const tellingReplies: Readonly<Record<Telling, readonly string[]>> = {
  rumor: [
    'This is {untrue}, it was {undone} an hour ago.',
    'That picture is {made}. Please stop sharing this {tale}.',
    'Complete {tale}. The account behind it has been {undone} before.',
    'Looks {untrue} to me, the video was {made} years ago.',
    'The story about the {place} is {untrue}. Somebody {made} the photos.',
    'Checked the source: it is a {tale}, already {undone}.',
    'Another {untrue} story about the {place}, and a {made} clip to go with it.',
  ],
  nonRumor: [
    'It is {sure}: {office} gave a {record} just now.',
    'An {witness} near the {place} says the same, and there is {record}.',
    'The {record} is {sure}, I saw it myself.',
    'Now {sure} by {office}. Stay away from the {place}.',
    '{office} have put out a {record}, so the news is {sure}.',
    'Our {witness} has been at the {place} since this morning, all of it is {sure}.',
    'You can see it in the {record}, {office} were there within minutes.',
  ],
};

const neutralReplies: readonly string[] = [
  'Wow. Is everyone all right there?',
  'Does anyone know more about the {place}?',
  'My sister lives near the {place}, I hope she is safe.',
  'Following this.',
  'What is happening at the {place}?',
  'This is crazy, I was there last week.',
  'Thinking of everyone tonight.',
  'When did this start?',
  'I cannot believe what I am reading about the {place}.',
  'Waiting to hear more before I say anything.',
  'Somebody please keep us posted.',
  'And nobody saw anything at the {place}?',
];

const distractors: readonly string[] = [
  'Anyway, the playlist for the weekend is up.',
  'Giveaway on my page, ten winners!',
  'Has someone a good pizza recipe?',
  'My puppy turned one today, happy birthday to him.',
  'Who else watches the football tonight?',
  'Discount on sneakers until Sunday, link in my profile.',
  'My horoscope said this week would be strange.',
  'Karaoke at eight, who is in?',
];

/** A claim's sentences for or against itself. */
const tellingClaims: Readonly<Record<Telling, readonly string[]>> = {
  rumor: [
    'Some call it {untrue}, and say that the photo is {made}.',
    'It sounds like a {tale}, but share it anyway!',
    'They say it was {undone}, I do not care.',
  ],
  nonRumor: [
    'There is {record} from the {office}.',
    'A {witness} told us; the pictures are {sure}.',
    'It has been {sure} by {office}.',
  ],
};
const neutralClaims: readonly string[] = [
  'More soon.',
  'Spread the word.',
  'Just heard it.',
  'What do you make of it?',
];

/** The text of one post: a claim of its story, or a reply, with its evidence about the class. */
export function composePost(
  post: { evidence: SyntheticEvidence; distractor: boolean; event: number; claim: boolean },
  random: Random,
): string {
  const { evidence, distractor, claim } = post;
  const story = stories[post.event];
  const one = (of: readonly string[]) => of[random.integer(of.length)];
  const sentences = () => {
    if (claim) return evidence === 'neutral' ? neutralClaims : tellingClaims[evidence];
    if (evidence !== 'neutral') return tellingReplies[evidence];
    return distractor ? distractors : neutralReplies;
  };
  const filled = one(sentences()).replaceAll(/\{(\w+)\}/g, (_, slot: string) =>
    slot === 'place' || evidence === 'neutral' ? one(story.places) : one(slots[evidence][slot]),
  );
  const sentence = `${filled[0].toUpperCase()}${filled.slice(1)}`;
  return claim ? `${one(story.claims)} ${sentence}` : sentence;
}
