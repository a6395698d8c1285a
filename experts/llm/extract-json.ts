/**
 * The JSON values a model's text may have meant, likeliest first: the whole text, fenced blocks, then objects and arrays
 * found between other words, the last first since models think before they answer. Nothing is repaired.
 */
export function extractJson(text: string): unknown[] {
  // What a reasoning model thought aloud is not its answer, even where it never came to one.
  const answer = text.replace(/^\s*<think>[\s\S]*?(?:<\/think>|$)/, '');
  const fenced = [...answer.matchAll(/```[\w-]*\s*\n?([\s\S]*?)```/g)].map((match) => match[1]).reverse();
  for (const texts of [[answer], fenced, embeddedValues(answer).reverse()]) {
    const values = texts.flatMap(parsed);
    if (values.length > 0) return values;
  }
  return [];
}

function parsed(text: string): unknown[] {
  try {
    return [JSON.parse(text)];
  } catch {
    return [];
  }
}

/** The outermost balanced {…} and […] of a text, brackets inside strings aside. */
function embeddedValues(text: string): string[] {
  const found: string[] = [];
  for (let start = 0; start < text.length; start++) {
    if (text[start] !== '{' && text[start] !== '[') continue;
    const end = endOfBalanced(text, start);
    if (end === null || parsed(text.slice(start, end)).length === 0) continue;
    found.push(text.slice(start, end));
    start = end - 1;
  }
  return found;
}

function endOfBalanced(text: string, start: number): number | null {
  let depth = 0;
  let inString = false;
  for (let index = start; index < text.length; index++) {
    const character = text[index];
    if (inString) {
      if (character === '\\') index++;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') depth++;
    else if ((character === '}' || character === ']') && --depth === 0) return index + 1;
  }
  return null;
}
