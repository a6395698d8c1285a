import {
  ANSWER_PLACE,
  CONNECTIVE,
  DENIAL,
  LABELLING,
  PLAIN_MIDDLE,
  PREDICATE_START,
  STATEMENT_START,
} from './answer-grammar.ts';
import { type AnswerWords, escaped, folded, plainSentence, readLine } from './answer-words.ts';

/*
 * What a reason must not say. An answer behind it counts when the reason names no other one in an answer's place:
 *
 *   - a line or sentence that is an answer by the grammar ("It is a non-rumor."), or an answer word and a comma;
 *   - what follows a noun that means "answer" ("so the answer is No", `"answer": "No"`), or a verb of labelling ("should be labelled");
 *   - the end of a clause that names a label, or denies the answer ("Therefore, this is NOT a rumor"), unless others say so or it only
 *     may be so.
 *
 * All answers one after the other, as the prompt names them ("Yes, No."), are its echo and prefer none.
 *
 * And it speaks about the thread. Where the model speaks of itself it says what it thinks, finds or concludes; any other sentence in
 * the first person ("I cannot …", "my guidelines …") is no reason for an answer, and mostly a refusal. Quotations are not its words.
 */

/** Why a reason does not go with an answer, for its model; null where it does. */
export function whyNoReason(reason: string, { words, label }: { words: AnswerWords; label: string }): string | null {
  if (!agrees(reason, { words, label })) return 'it gives several answers.';
  return speaksOfItself(reason) ? 'its reason is about its writer, not about what was asked.' : null;
}

const SENTENCES = /(?<=[.!?;][\])"'*_`”’]{0,3})\s+|(?<=[。！？；])|[\r\n]+/;
const BULLET = /^\s*(?:[-*•>#]+|\d+[.)])\s+/;
/** Where a conclusion begins within a sentence. */
const CLAUSES = /[,;:]\s+(?:and |but )?(?=(?:so|therefore|thus|hence|consequently)\b)/;
/** Sentences are short; whatever is longer is searched in pieces. */
const LONGEST_SENTENCE = 2000;

function agrees(reason: string, own: { words: AnswerWords; label: string }): boolean {
  const mentions = mentionsOf(own.words);
  const sentences = [...new Set(reason.split(SENTENCES))];
  return sentences
    .flatMap((sentence) => sentence.match(new RegExp(`[\\s\\S]{1,${LONGEST_SENTENCE}}`, 'g')) ?? [])
    .every((sentence) => sentenceAgrees(sentence, { ...own, mentions }));
}

interface Named {
  readonly words: AnswerWords;
  readonly label: string;
  readonly mentions: RegExp;
}

function sentenceAgrees(sentence: string, named: Named): boolean {
  const { words, label } = named;
  const bare = sentence.replace(BULLET, '');
  if (listsAnswers(bare, words)) return true;
  const parts = [bare.replace(/\?+$/, ''), /^[^,，]{1,80}(?=[,，])/.exec(bare)?.[0] ?? ''];
  const [whole, beforeComma] = parts.map((text) => readLine(text, words));
  if (whole !== null && whole.label !== label) return false;
  // "It is a rumor, they say" says it of others.
  if (beforeComma !== null && beforeComma.opening !== 'statement' && beforeComma.label !== label) return false;
  const plain = plainSentence(bare);
  if (CONDITION.test(plain) || QUESTION.test(bare)) return true;
  if (!sentenceNames(folded(bare.replace(QUOTED, ' ')), named)) return false;
  for (const place of [...plain.matchAll(ANSWER_PLACE), ...plain.matchAll(LABELLING)])
    if (!placeAgrees(plain.slice(place.index + place[0].length), DENIAL.test(place[0]), named)) return false;
  return plain.split(CLAUSES).every((clause) => statementAgrees(clause, named));
}

function listsAnswers(sentence: string, words: AnswerWords): boolean {
  const names = Object.values(words).map(([first]) => escaped(folded(first)));
  return new RegExp(`^${names.join('(?:, (?:or )?| or | ?/ ?)')}$`).test(plainSentence(sentence));
}

/** What may follow a label that is named, rather than a word that happens to be spelt like it: "no" in "there is no source". */
const NAMED =
  /^["'*_`”’)\]}>]*(?:$|[^\p{L}\p{N}\s-]|\s+(?:or|and|but|because|since|as|given|due|based|for|not|rather|instead)\b)/u;

/** "If it had been confirmed, the answer would be …" answers nothing. */
const CONDITION = /^(?:if|unless|had|were)\b/;
/** "Is it a rumor?" answers nothing; "Rumor?" alone is read as an answer above. */
const QUESTION = /^(?:is|was|are|does|do|did|has|have|could|can|should|would|will|what|which|why|who|how)\b.*\?\W*$/i;
/** Before a label that is used as a noun: "nobody confirms the rumor". */
const NOUN_USE = /\b(?:(?:the|this|that|these|those|its|any|such)|(?:of|about)(?: an?)?) $/;
/** Labels that mean something else in front of another word: "no source". */
const FUNCTION_WORD = /^(?:no|yes|non|nein|si|sí|是|否)$/;
/** Sentences that say what others say, and sentences that say what may be. */
const REPORTED =
  /\b(?:says?|said|claim(?:s|ed)|argue[sd]?|calls?|called|believes?|thinks?|thought|asks?|asked|according|suggest(?:s|ed)?|insists?|reports?|reported|options?|either|between|whether|users?|others?|some|proponents?|opponents?|debaters?)\b/;
const POSSIBLE =
  /\b(?:may|might|could|would|can|seem(?:s|ed)?|appear(?:s|ed)?|look(?:s|ed)? like|possible|possibly|perhaps|at first|first glance)\b/;
const FIRST_PERSON = /\b(?:i|we)\b/;
const CLAUSE_ENDS = /[,;:，；：]|\b(?:and|but|so|because)\b/;
const AFFIRMED = /(?:\b(?:is|are|as)|['’]s) (?:an? )?$/;
/** "That is no longer so" denies, "a claim with no source is a rumor" does not. */
const DENIED_CLAUSE = /\b(?:not|nobody|wrong|hardly|never|no (?:evidence|sign|indication|proof|reason))\b/;
/** "That speaks against a rumor." */
const OPPOSED = /\b(?:against|rul(?:es?|ed|ing) out|exclud(?:es?|ed|ing)|no (?:evidence|sign|indication|proof))\b/;
const NEAR = /(?:\S+\s+){0,7}\S{0,9}$/;

/** A sentence names no other label, and denies not the answer, unless others say so or it only may be so. */
function sentenceNames(sentence: string, { words, label, mentions }: Named): boolean {
  const isOfItsWriter = FIRST_PERSON.test(sentence);
  const isReported = REPORTED.test(sentence) && !isOfItsWriter && !/\bwrong to\b/.test(sentence);
  const isPossible = POSSIBLE.test(sentence) && !isOfItsWriter;
  return [...sentence.matchAll(mentions)].every((mention) => {
    const before = sentence.slice(0, mention.index);
    const isFunctionWord =
      FUNCTION_WORD.test(mention[0]) && !NAMED.test(sentence.slice(mention.index + mention[0].length));
    if (NOUN_USE.test(before) || isFunctionWord) return true;
    const near = NEAR.exec(before.split(CLAUSE_ENDS).at(-1) ?? '')?.[0] ?? '';
    const isDenied = AFFIRMED.test(near)
      ? DENIED_CLAUSE.test(near.replace(AFFIRMED, ''))
      : DENIAL.test(near) || OPPOSED.test(near);
    const isAnswer = labelNamed(mention[0], words) === label;
    return isReported || isAnswer !== isDenied || (!isAnswer && isPossible);
  });
}

/** What follows a noun that means "answer". */
function placeAgrees(rest: string, isDenied: boolean, { words, label, mentions }: Named): boolean {
  let from = 0;
  for (const mention of rest.matchAll(mentions)) {
    const before = rest.slice(from, mention.index);
    const end = mention.index + mention[0].length;
    const isNamed = PREDICATE_START.test(rest.slice(0, mention.index)) || NAMED.test(rest.slice(end));
    if (!isNamed) continue;
    const denies = DENIAL.test(before) || (isDenied && from === 0);
    if ((labelNamed(mention[0], words) === label) === denies) return false;
    from = end;
  }
  return true;
}

/** A statement about the thread that ends with a label, or a conclusion that has one. */
function statementAgrees(clause: string, { words, label, mentions }: Named): boolean {
  const concludes = CONNECTIVE.test(clause);
  const statement = clause.replace(CONNECTIVE, '');
  const start = STATEMENT_START.exec(statement)?.[0];
  if (start === undefined) return true;
  const [mention] = [...statement.matchAll(mentions)].filter(({ index }) => index >= start.length);
  if (mention === undefined) return true;
  const end = mention.index + mention[0].length;
  if (end < statement.length && !(concludes && NAMED.test(statement.slice(end)))) return true;
  const isDenied = DENIAL.test(statement.slice(0, mention.index));
  if (labelNamed(mention[0], words) === label) return !isDenied;
  return isDenied || !PLAIN_MIDDLE.test(statement.slice(start.length, mention.index));
}

/** Every answer word where it is a word of its own; of two that begin at one place, the longer one. */
function mentionsOf(words: AnswerWords): RegExp {
  const all = Object.values(words)
    .flat()
    .map(folded)
    .sort((one, other) => other.length - one.length)
    .map((word) => (/[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}]/u.test(word) ? escaped(word) : bounded(word)));
  return new RegExp(all.join('|'), 'gu');
}

const bounded = (word: string) => `(?<![\\p{L}\\p{N}-])${escaped(word)}(?![\\p{L}\\p{N}]|-\\p{L})`;

function labelNamed(mention: string, words: AnswerWords): string | null {
  return readLine(mention, words)?.label ?? null;
}

const QUOTED = /"[^"\n]*"|“[^”\n]*”|«[^»\n]*»|(?<!\p{L})['‘][^'’\n]*['’](?!\p{L})|^[ \t]*>.*$/gmu;
const THINKING =
  '(?:think|believe|see|saw|read|find|found|note|noticed?|observed?|concluded?|judged?|infer(?:red)?|deduced?|argued?|maintain|hold|sa(?:y|id)|call|classif(?:y|ied)|label(?:led)?|categori[sz]ed?|choose|chose|pick|select|answer|vote|decided?|determined?|consider(?:ed)?|weigh(?:ed)?|compared?|assess(?:ed)?|evaluated?|analy[sz]ed?|examined?|check(?:ed)?|look(?:ed)?|review(?:ed)?|start|begin|go|agree|disagree|accept|acknowledge|concede|recogni[sz]e|interpret|take|rated?|stand|side|lean|trust|doubt|suspect|assume|treat|focus|identif(?:y|ied)|remain|expect|know|understand|regard)';
const ADVERBS =
  '(?:(?:also|now|then|first|therefore|thus|still|clearly|carefully|would|will|can|could|must|should|have|do|need to|have to|want to|am going to) )*';
const OF_ITSELF = [
  `i(?: (?!can not)|['’](?:d|ll|ve) )${ADVERBS}${THINKING}(?! not\\b)`,
  "i (?:do not|don['’]t|cannot|can['’]t|can not|could not|couldn['’]t|did not|didn['’]t) (?:see|find|notice|observe|detect|tell)",
  `i(?:['’]m| am) (?:convinced|inclined|confident|certain|sure|going to ${THINKING}|looking|analy[sz]ing|considering|weighing|evaluating|leaning)`,
  'my (?:own |final |initial |first |previous |earlier |overall )*(?:answer|verdict|conclusion|label|classification|decision|judge?ment|prediction|assessment|analysis|reasoning|view|opinion|reading|position|argument|opponent|stance|side|vote)',
  '(?:let|to|leads?|makes?|convinces?|persuades?|tells?) me',
];
const PERMITTED_SELF = new RegExp(
  `\\b(?:${OF_ITSELF.join('|')})\\b|我(?:认为|觉得|判断|看到|相信|的(?:判断|结论|分析|答案))`,
  'giu',
);
/** The first person, and a model's other names for itself. */
const SELF = /\bI\b|\b(?:my|me|myself|mine)\b|\bas an? (?:ai|artificial|(?:large )?language)\b/iu;
/** Words of English alone: in other languages "me" and "I" mean something else. */
const ENGLISH = /\b(?:the|this|that|is|are|am|and|of|with|not|can|cannot|will|have|it|an)\b|n['’]t\b/i;
const CHINESE_SELF = /我(?!们)/;

/** Whether the model says something of itself other than what it thinks. */
function speaksOfItself(reason: string): boolean {
  const unquoted = reason.replace(QUOTED, ' ');
  const rest = unquoted.replace(PERMITTED_SELF, ' ');
  return (ENGLISH.test(unquoted) && SELF.test(rest)) || CHINESE_SELF.test(rest);
}
