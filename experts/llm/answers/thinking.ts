import { jsonOrUndefined } from '../../../src/json.ts';

/*
 * Models think in many notations, and servers pass on what they do not recognise. A thought must never be read as the
 * answer, so thoughts are split off here, where a completion is read, and nowhere else. The rule needs no list of
 * notations:
 *
 *   - A mark opens or closes: `<x>` and `</x>`, `[X]` and `[/X]`, `<|START_X|>` and `<|END_X|>`, `<|x>` and `<x|>`,
 *     `◁x▷` and `◁/x▷`.
 *   - Text between marks of any name is a thought. So is all text before it, and all text before a closing mark without
 *     an opening one, which the chat template may have written.
 *   - An opening mark that is never closed has no answer before or after it.
 *   - Marks that name an answer (`<answer>`, `<verdict>`, `<|START_RESPONSE|>`) and marks of typesetting (`<b>`) open
 *     no thought. Nor does an unknown, unclosed name inside a line, because posts contain `<URL>` and `[USER]`.
 *   - In the channels of harmony only the final one is for the user
 *     (https://cookbook.openai.com/articles/openai-harmony).
 *
 * A text that is one JSON value has no marks, only texts.
 */

/** Marks that open a thought anywhere. */
const KNOWN = /^(?:seed:)?(?:think|thinking|thoughts?|reasoning|reflection|scratchpad)$/;
/** Marks around an answer, such as `<answer>` and `<final_verdict>`. */
const ANSWER_MARKS =
  /^(?:(?:final[_ -]?)?(?:answer|verdict|conclusion|label|classification|class|category|decision|judge?ment|prediction|determination|assessment|response|result|output|stance|veracity|status|vote|solution)|final)$/;
const TYPESETTING =
  /^(?:b|i|u|s|p|a|br|hr|em|strong|code|pre|span|div|ul|ol|li|h[1-6]|sup|sub|blockquote|table|t[rdh])$/;
const MARK =
  /<(?<xmlClose>\/?)(?<xml>\p{L}[\w:.-]*)(?:\s[^<>\n]*)?>|\[(?<boxClose>\/?)(?<box>[A-Z][A-Z_]*)\]|<[|｜](?<token>[^<>|｜\n]{1,40})(?<tokenEnd>[|｜]?)>|<(?<shut>[^<>|｜\n]{1,40})[|｜]>|◁(?<signClose>\/?)(?<sign>\w+)▷/gu;
const FINAL_CHANNEL = /<\|channel\|>\s*final\b(?:[^<]|<\|constrain\|>)*<\|message\|>/g;
/** The rest of the channels if a server drops the special tokens: "analysisWe need to …assistantfinalYes". */
const BARE_CHANNELS = /^\s*analysis[\s\S]*assistantfinal/;
const END_TOKENS =
  /(?:<\|(?:im_end|eot_id|eom_id|end|return|end_of_text|endoftext|end_of_solution|END_OF_TURN_TOKEN)\|>|<\/s>|<end_of_turn>|<eos>|<｜end▁of▁sentence｜>)$/;

const LONGEST_TOKEN = 40;

export interface SplitText {
  /** The model's answer; empty if it never came that far. */
  readonly answer: string;
  /** Null if the text is the answer alone. */
  readonly thinking: string | null;
}

/** Splits the thoughts off a model's text. A text without thoughts is returned as it is. */
export function splitThinking(text: string): SplitText {
  const { answer, thinking } = split(withoutEndTokens(text));
  return { answer: unwrap(withoutEndTokens(answer)), thinking };
}

/** Removes the token that ends a turn, which some servers pass on. */
export function withoutEndTokens(text: string): string {
  const trimmed = text.trimEnd();
  const end = END_TOKENS.exec(trimmed.slice(-LONGEST_TOKEN));
  return end === null ? text : trimmed.slice(0, -end[0].length).trimEnd();
}

function split(text: string): SplitText {
  if (text.includes('<|channel|>')) {
    const final = [...text.matchAll(FINAL_CHANNEL)].at(-1);
    const finalText = final === undefined ? '' : text.slice(final.index + final[0].length);
    // If another channel follows, this one was not final.
    if (final === undefined || finalText.includes('<|channel|>')) return { answer: '', thinking: text.trim() };
    const [answer] = finalText.split(/<\|(?:end|return|start)\|>/, 1);
    return { answer: answer.trim(), thinking: text.slice(0, final.index).trim() || null };
  }
  const bare = BARE_CHANNELS.exec(text);
  if (bare) return { answer: text.slice(bare[0].length).trim(), thinking: bare[0].trim() };
  if (isJson(text)) return { answer: text, thinking: null };
  const marks = marksOf(text);
  const open: string[] = [];
  for (const { name, isClosing } of marks) {
    const opened = open.lastIndexOf(name);
    if (isClosing) open.length = Math.max(0, opened);
    else open.push(name);
  }
  const last = marks.at(-1);
  if (last === undefined) return { answer: text, thinking: null };
  const thought = text.slice(marks[0].start === 0 ? marks[0].end : 0, open.length > 0 ? undefined : last.start).trim();
  return { answer: open.length > 0 ? '' : text.slice(last.end).trim(), thinking: thought || null };
}

interface Mark {
  readonly name: string;
  readonly isClosing: boolean;
  /** Whether the mark has the form of a special token, which no post and no sentence has. */
  readonly isToken: boolean;
  readonly start: number;
  readonly end: number;
}

/** The marks of thoughts, in their order. */
function marksOf(text: string): Mark[] {
  const all = [...text.matchAll(MARK)].map(markOf);
  const lastClosing = new Map(all.flatMap(({ name, isClosing, start }) => (isClosing ? [[name, start] as const] : [])));
  const isThought = ({ name, isClosing, isToken, start }: Mark, index: number) => {
    if (ANSWER_MARKS.test(name) || TYPESETTING.test(name)) return false;
    if (isClosing || isToken || KNOWN.test(name) || (lastClosing.get(name) ?? 0) > start) return true;
    let before = start;
    while (before > 0 && /\s/.test(text[before - 1])) before--;
    return before === 0 || text.slice(before, start).includes('\n') || all[index - 1]?.end === before;
  };
  return all.filter(isThought).map((mark) => (KNOWN.test(mark.name) ? { ...mark, name: 'think' } : mark));
}

const EDGE = /^(?:start|begin|end)(?:[_▁ ]of)?[_▁ ]|[_▁ ](?:start|begin|end)$/;

function markOf(match: RegExpExecArray): Mark {
  const { xml, xmlClose, box, boxClose, token, tokenEnd, shut, sign, signClose } = match.groups ?? {};
  const word = (xml ?? box ?? token ?? shut ?? sign ?? '').trim().toLowerCase();
  const name = word.replace(/^\//, '').replace(EDGE, '');
  const isClosing =
    shut !== undefined ||
    [xmlClose, boxClose, signClose].includes('/') ||
    (tokenEnd !== '' && token !== undefined && /^(?:\/|end[_▁ ])|[_▁ ]end$/.test(word));
  const isToken = xml === undefined && box === undefined;
  return { name, isClosing, isToken, start: match.index, end: match.index + match[0].length };
}

/** The text inside one mark that names an answer. The other half of the mark may be missing. */
function unwrap(text: string): string {
  const marks = [...text.matchAll(MARK)].map(markOf).filter(({ name }) => ANSWER_MARKS.test(name));
  const [first, second, third] = marks;
  if (first === undefined || third !== undefined || (second !== undefined && !second.isClosing)) return text;
  const isAround = first.isClosing || text.slice(0, first.start).trim() === '';
  const closing = marks.find(({ isClosing }) => isClosing);
  if (!isAround || (closing !== undefined && text.slice(closing.end).trim() !== '')) return text;
  return text.slice(first.isClosing ? 0 : first.end, closing?.start).trim();
}

function isJson(text: string): boolean {
  const first = text.trimStart()[0];
  return (first === '{' || first === '[') && jsonOrUndefined(text) !== undefined;
}
