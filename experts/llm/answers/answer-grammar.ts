/*
 * The sentences that are an answer. An answer word may stand alone, or at the end of one sentence whose subject is the thread and
 * whose predicate is the word, or behind a noun that means "answer":
 *
 *   sentence  = [connective] ( lead [statement] | statement | choice ) word [noun] ["." | "!"]
 *             | [connective] subject word                     "The conversation derails": a word whose verb ends with "s"
 *   lead      = ["the" | "my"] [adjective] answer ["of" subject] ( ":" | "is" )   "Final answer:", "The verdict is"
 *   statement = subject ( "is" | "qualifies as" | … ) [emphasis] [article]        "The given sequence of posts is clearly a"
 *   choice    = "I" ["would"] ( "classify" | … ) subject "as" [article]
 *   subject   = "it" | "this" | ( "the" | "this" | … ) { adjective } noun { "of" … noun }
 *   noun      = "thread" | "claim" | "article" | …          what a task may be about
 *   word      = one of the answer words of the task, whatever its language
 *
 * Everything that is not in these lists makes a text unreadable: negations ("is not a"), hedges ("may be", "likely"), other subjects
 * ("the first reply"), two labels. So nothing needs to be refused by name. The closed words are those of English and, in their
 * commonest forms, of Chinese, French, German and Spanish; the answer words are the task's own.
 *
 * The same lists find the places where a reason gives an answer (reasons.ts).
 */

interface Language {
  /** What an answer is called, with what may stand around the noun. */
  readonly answer: string;
  /** Between that noun and the answer. */
  readonly link: string;
  readonly subject: string;
  /** The verb of a statement. */
  readonly copula: string;
  /** Between that verb and the predicate. */
  readonly gap: string;
  readonly article: string;
  readonly emphasis: string;
  /** What a conclusion begins with. */
  readonly connective: string;
  readonly choice: string;
  /** What turns a sentence into its opposite; only reasons are searched for it. */
  readonly denial: string;
}

const noun =
  '(?:threads?|posts?|tweets?|messages?|sequences?|series|claims?|statements?|story|stories|news|articles?|headlines?|reports?|texts?|contents?|information|conversation|discussion|dialogue|exchange|comments?|repl(?:y|ies)|reviews?|documents?|rumou?rs?|assertion|allegation|input)';
const adjective =
  '(?:given|provided|above|following|whole|entire|full|first|original|initial|source|main|central|social|media|online|news|twitter|reddit|weibo|facebook|user|public|quoted|presented|described|current|specific)';
const behind = '(?: (?:given|provided|above|below))?';
const phrase = `(?:the|this|that|these|those) (?:${adjective}[ -])*${noun}${behind}`;
const placed = ` (?:of|in|from|by|about|made in|made by|presented in|contained in) (?:(?:the|this|that|these|those) )?(?:${adjective}[ -])*${noun}${behind}`;
const subject = `(?:it|this|that|these|${phrase}(?:${placed}){0,3}(?: that ${phrase} makes)?)`;
const answerNoun =
  '(?:answer|verdict|conclusion|label|classification|class|category|decision|judge?ment|prediction|determination|assessment|response|result|output|stance|veracity|status|vote)';
const answerAdjective = '(?:final|correct|right|best|proper|appropriate|overall|most appropriate|resulting|predicted)';
const classify = '(?:classify|categori[sz]e|label|judge|rate|deem)';

const english: Language = {
  answer: `(?<!['’]s )(?<!\\b(?:their|his|her|other|wrong) )\\b(?:(?:the|my|our) )?(?:${answerAdjective} )*${answerNoun}\\b["'*_\`]*(?: (?:of|for|to) (?:${subject}|(?:the|this) question))?`,
  link: '(?:\\s*[:：=]|\\s*(?:→|->)| [-–—](?= )| (?:is|would be|should be|must be)(?: that)?:?(?![\\p{L}\\p{N}]))\\s*',
  subject,
  copula: `(?:(?: is| are|['’]s|(?: is| should be| must be) (?:classified|categori[sz]ed|labell?ed|considered|judged|deemed|rated)(?: as| to be)?)| qualifies as| counts as| constitutes)`,
  gap: ' ',
  article: '(?:an? )?',
  emphasis: '(?:(?:clearly|definitely|indeed|certainly|obviously|undoubtedly|evidently|therefore|thus) )*',
  connective:
    '(?:(?:and )?(?:so|therefore|thus|hence|consequently|accordingly|overall|finally|in conclusion|to conclude|in summary|to sum up|in short|as a result)[,:]? |' +
    `(?:based on|given|considering|after (?:reading|considering|reviewing|analy[sz]ing)) (?:this|${phrase}(?:${placed}){0,3}|the (?:${adjective} )*(?:analysis|evidence|facts)), )`,
  choice: `i(?: would| will|['’]d|['’]ll)? (?:${classify} ${subject}(?: as| to be)? |(?:choose|answer|pick|select|vote(?: for)?):? |(?:conclude|find|determine|decide|predict) that ${subject}(?: is| are) )`,
  denial:
    "\\b(?:not|no|never|neither|nor|nothing|none|nobody|cannot|hardly|scarcely|barely|far from|anything but|rather than|instead of|wrong|incorrect|mistaken)\\b|n['’]t\\b",
};

const chinese: Language = {
  answer: '(?:最终|最后|正确)?的?(?:答案|结论|判断|判定|标签|结果|分类|类别|立场)',
  link: '(?:是|为|\\s*[:：=])\\s*',
  subject:
    '(?:这|该|此|上述|本)(?:条|个|则|些|篇|段)?(?:微博|帖子|消息|信息|新闻|内容|言论|推文|讨论|对话|说法|声明|文章|传言)?',
  copula: '(?:是|属于|为)',
  gap: '',
  article: '(?:一个|一条|一则)?',
  emphasis: '(?:确实|显然|明显)?',
  connective: '(?:因此|所以|综上(?:所述)?|总之)[，,]?\\s*',
  choice: '我(?:认为|判断)(?:这|该)(?:条|个|则)?(?:微博|帖子|消息|信息|新闻|内容)?(?:是|属于)',
  denial: '不|非|没|未|无',
};

const french: Language = {
  answer:
    '(?<!\\p{L})(?:(?:la|ma|le|mon) )?(?:réponse|conclusion|étiquette|classification|verdict)\\b["*_]*(?: (?:finale?|correcte?))?',
  link: '(?:\\s*[:：=]| est(?= ))\\s*',
  subject:
    "(?:c['’]|ce|ceci|cela|ce (?:fil|message|tweet)|cette (?:publication|nouvelle|affirmation|information)|la (?:publication|nouvelle|affirmation)|l['’](?:article|information|affirmation))",
  copula: ' ?est',
  gap: ' ',
  article: '(?:une? )?',
  emphasis: '(?:clairement )?',
  connective: '(?:donc|par conséquent|en conclusion|ainsi),? ',
  choice: 'je classe (?:ce (?:fil|message)|cette publication) comme ',
  denial: '(?<!\\p{L})(?:pas|jamais|aucune?|ni)\\b',
};

const german: Language = {
  answer:
    '(?<!\\p{L})(?:(?:die|das|meine?|der) )?(?:(?:endgültige|richtige|finale)s? )?(?:antwort|schlussfolgerung|einordnung|klasse|kategorie|bewertung|urteil|fazit)\\b["*_]*',
  link: '(?:\\s*[:：=]| (?:ist|lautet)(?= |:):?)\\s*',
  subject:
    '(?:das|es|dies|(?:der|dieser) (?:beitrag|thread|artikel|tweet)|(?:die|diese) (?:nachricht|behauptung|meldung|unterhaltung|aussage))',
  copula: ' ist',
  gap: ' ',
  article: '(?:eine? )?',
  emphasis: '(?:eindeutig |klar )?',
  connective: '(?:also|daher|somit|folglich),? ',
  choice: 'ich stufe (?:das|es|den beitrag|die behauptung) als ',
  denial: '(?<!\\p{L})(?:nicht|kein\\p{L}*|nie|niemals|weder|kaum)\\b',
};

const spanish: Language = {
  answer:
    '(?<!\\p{L})(?:(?:la|mi|el) )?(?:respuesta|veredicto|conclusión|etiqueta|clasificación)\\b["*_]*(?: (?:final|correcta))?',
  link: '(?:\\s*[:：=]| es(?= ))\\s*',
  subject:
    '(?:esto |este (?:hilo|mensaje|tuit) |esta (?:noticia|publicación|historia|afirmación) |la (?:noticia|publicación|historia|afirmación) |el (?:hilo|mensaje|artículo|tuit) )?',
  copula: 'es',
  gap: ' ',
  article: '(?:una? )?',
  emphasis: '(?:claramente )?',
  connective: '(?:por (?:lo )?tanto|en conclusión|así que),? ',
  choice: 'clasifico (?:este hilo|esta publicación) como ',
  denial: '(?<!\\p{L})(?:no|nunca|ningún|ninguna|ni|tampoco)\\b',
};

const languages = [english, chinese, french, german, spanish];

/** The names of marks that hold an answer: `<answer>`, `<final_verdict>`. */
export const ANSWER_MARKS = new RegExp(`^(?:(?:final[_ -]?)?(?:${answerNoun}|solution)|final)$`);

const anyOf = (each: (language: Language) => string, flags = 'u') =>
  new RegExp(languages.map((language) => `(?:${each(language)})`).join('|'), flags);

const statement = ({ subject, copula, gap, emphasis, article }: Language) =>
  `${subject}${copula}${gap}${emphasis}${article}`;

/** All of these are of a folded text. */
const CONCLUDING = anyOf(
  (each) =>
    `^(?:${each.connective})?(?:${each.answer}${each.link}(?:${statement(each)}|${each.article})|${each.choice}${each.article})$`,
);
const CONCLUDED = anyOf((each) => `^${each.connective}${statement(each)}$`);
const STATED = anyOf((each) => `^${statement(each)}$`);
const VERB_SUBJECT = new RegExp(
  `^(?:${english.connective})?(?:i (?:conclude|predict) that )?(?:${english.answer}${english.link})?(?:it|${phrase}) $`,
);
const NOUN_BEHIND =
  / (?:claims?|(?:news )?article|news|story|post|tweet|thread|statement|report|information|content|conversation|discussion)$/;

/** What stands before an answer word: `lead` where it says that an answer follows, `statement` where it speaks of the thread. */
export type Opening = 'lead' | 'statement';

/** What a text is that stands before an answer word; null where nothing like it may stand there. */
export function openingOf(before: string, word: string): Opening | null {
  if (CONCLUDING.test(before)) return 'lead';
  const isVerb = /^[^\s]{3,}s(?:\s|$)/.test(word) && VERB_SUBJECT.test(before);
  return CONCLUDED.test(before) || STATED.test(before) || isVerb ? 'statement' : null;
}

/** Whether a sentence begins as a conclusion does. */
export const CONNECTIVE = anyOf(({ connective }) => `^${connective}`);

/** A statement without the noun behind the predicate: "is a false claim" states what "is false" does. */
export function withoutNoun(sentence: string): string | null {
  return NOUN_BEHIND.test(sentence) ? sentence.replace(NOUN_BEHIND, '') : null;
}

/** A noun that means "answer", with what links it to one. */
export const ANSWER_PLACE = anyOf(({ answer, link }) => `${answer}${link}`, 'gu');

/** What may stand between that and the answer. */
export const PREDICATE_START = anyOf(
  (each) => `^["'*_\`“‘(\\[{<]*(?:${statement(each)}|${each.emphasis}${each.article})["'*_\`“‘(\\[{]*$`,
);

/** A verb that gives something a label, where somebody says that it is to be used. */
export const LABELLING = new RegExp(
  `\\b(?:should|must|has to|i(?: would| will|['’]d|['’]ll)?) (?:not )?(?:be )?(?:${classify}|classified|categori[sz]ed|labell?ed|judged|rated|deemed|considered|regarded) `,
  'g',
);

/** A subject with its verb. */
export const STATEMENT_START = anyOf(
  ({ subject, copula }) => `^${subject}(?:\\s*(?:no |n['’]|ne |不|并不|并非))?${copula}`,
);

/** What of a statement stands between its verb and its predicate. */
export const PLAIN_MIDDLE = anyOf(
  ({ emphasis, article }) => `^\\s*${emphasis}(?:(?:likely|probably|most likely|just|only|still|also) )?${article}$`,
);

export const DENIAL = anyOf(({ denial }) => denial);

/** Whether the end of a line says that the answer is what follows: "### Final answer". */
export const HEADING = anyOf(({ answer }) => `^(?:#{1,6} )?${answer}\\s*[:：]?$`);
