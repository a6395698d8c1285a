import { expect, it } from 'vitest';
import type { AnswerWords } from '../../../../experts/llm/answers/answer-words.ts';
import { readVerdict } from '../../../../experts/llm/answers/verdict.ts';

/*
 * What models say: 200 texts that mean a label, one a line with two spaces after it, and 200 that mean none. No prose is read, in no
 * language: of the first, those are read that are an answer word, and of the second none.
 */

const tasks = {
  rumor: { rumor: ['Yes', 'Rumor', 'Rumour'], 'non-rumor': ['No', 'Non-rumor'] },
  veracity: { 'non-rumor': ['Non-rumor'], true: ['True'], false: ['False'], unverified: ['Unverified'] },
  news: { fake: ['Fake'], real: ['Real'] },
  derailment: { derails: ['derails'], 'stays civil': ['stays civil'] },
  stance: { support: ['Support', 'Supports'], deny: ['Deny', 'Denies'], query: ['Question'], comment: ['Comment'] },
  weibo: { 谣言: ['谣言'], 非谣言: ['非谣言'] },
  french: { rumeur: ['rumeur'], fait: ['fait'] },
  german: { Gerücht: ['Gerücht'], 'kein Gerücht': ['kein Gerücht'], Fakt: ['Fakt'] },
  spanish: { bulo: ['bulo'], verificado: ['verificado'] },
} satisfies Record<string, AnswerWords>;
type TaskName = keyof typeof tasks;

const answers: Record<TaskName, string> = {
  rumor: `
rumor  Yes
rumor  Yes.
rumor  yes!
rumor  **Rumor**
rumor  "Rumour".
rumor  (Yes)
rumor  [Rumor]
rumor  It is a rumor.
rumor  It's a rumour.
rumor  It’s a rumor
rumor  This is a rumor.
rumor  That is a rumor.
rumor  This is clearly a rumor.
rumor  It is definitely a rumour.
rumor  It is therefore a rumor.
rumor  The thread is a rumor.
rumor  This thread is a rumor
rumor  The posts are a rumor.
rumor  These posts are a rumor.
rumor  The claim is a rumor.
rumor  The first post is a rumor.
rumor  The source tweet is a rumor.
rumor  The given thread is a **rumor**.
rumor  The given sequence of posts is a rumor.
rumor  The given sequence of social media posts is a rumor.
rumor  The sequence of social media posts provided is a rumor.
rumor  The above conversation is a rumor.
rumor  The claim in the first post is a rumor.
rumor  The claim made in the original tweet is a rumor.
rumor  The information in these posts is a rumor.
rumor  The content of the thread is a rumor.
rumor  The thread is classified as a rumor.
rumor  The thread should be classified as a rumor.
rumor  The claim is considered to be a rumor.
rumor  The thread qualifies as a rumor.
rumor  The story constitutes a rumor.
rumor  It is a rumor post.
rumor  Therefore, it is a rumor.
rumor  So this is a rumor.
rumor  Thus, the thread is a rumor.
rumor  In conclusion, the given thread is a rumor.
rumor  Based on the posts, it is a rumor.
rumor  Based on the given information, this is a rumor.
rumor  Answer: Yes
rumor  Answer: a rumor
rumor  Answer: it is a rumor
rumor  **Answer:** Yes
rumor  **Answer**: Yes.
rumor  Final answer: Rumor
rumor  Final Answer - Yes
rumor  My answer: Yes
rumor  My answer is yes.
rumor  The answer is Yes.
rumor  The answer is: **Yes**
rumor  The final answer is Rumor.
rumor  The correct answer is "Yes".
rumor  The answer to the question is Yes.
rumor  So the answer is yes.
rumor  Therefore, the answer is: Rumor
rumor  The verdict is that this is a rumor.
rumor  Verdict: Rumor
rumor  Label: rumor
rumor  Label = rumor
rumor  Classification: Rumour
rumor  Conclusion: This thread is a rumor.
rumor  My conclusion is that it is a rumor.
rumor  I classify the thread as a rumor.
rumor  I would classify this thread as a rumor.
rumor  I'd label it as a rumor.
rumor  I conclude that it is a rumor.
rumor  I answer: Yes
rumor  I choose Rumor.
rumor  \\boxed{Yes}
rumor  Final answer: \\boxed{\\text{Rumor}}
rumor  <answer>Yes</answer>
non-rumor  No
non-rumor  No.
non-rumor  Non-rumor
non-rumor  non‑rumor.
non-rumor  It is a non-rumor.
non-rumor  The thread is non-rumor.
non-rumor  The given sequence of posts is a non-rumor.
non-rumor  The answer is No.
non-rumor  Final answer: **No**
non-rumor  Prediction: Non-rumor
non-rumor  The thread is classified as non-rumor.
non-rumor  Therefore, the correct label is non-rumor.
non-rumor  I categorize this claim as a non-rumor.
non-rumor  Overall, this is a non-rumor.`,
  veracity: `
true  True
true  It is true.
true  The claim is true.
true  The claim is indeed true.
true  The claim that the first post makes is true.
true  The rumor is true.
true  The statement in the post is true.
true  It is a true story.
true  This is a true claim.
true  Veracity: True
true  The veracity of the claim is True.
true  The veracity of the claim is: True
true  The final verdict is True.
true  I judge the claim to be true.
false  False.
false  The claim is False.
false  The rumour is false.
false  The claim is clearly false.
false  It is a false claim.
false  This is a false report.
false  The first post is false.
false  The claim in the given thread is false.
false  The classification of the claim is False.
false  Therefore, the claim is false.
false  Thus the veracity is False.
false  I rate the claim as False.
unverified  Unverified
unverified  The claim is unverified.
unverified  It is an unverified claim.
unverified  The story is unverified.
unverified  These reports are unverified.
unverified  The veracity is unverified.
unverified  Veracity - Unverified
unverified  Given the evidence, the claim is unverified.
unverified  After reviewing the posts, the claim is unverified.
unverified  I find that the claim is unverified.
non-rumor  The thread is a non-rumor.
non-rumor  Category: Non-rumor`,
  news: `
fake  Fake
fake  The news is fake.
fake  This news is fake.
fake  It is fake news.
fake  This is fake news.
fake  This is a fake story.
fake  The article is fake.
fake  This news article is fake.
fake  The given news article is fake.
fake  The headline is fake.
fake  The document is clearly fake.
fake  The verdict is Fake.
fake  So the news is fake.
real  Real.
real  The news is real.
real  The article is Real
real  It is real news.
real  This is a real news article.
real  The report is real.
real  The information is real.
real  The answer is Real.
real  Final verdict: Real
real  My prediction is Real.
real  I label the article as real.
real  Based on the analysis, the article is real.`,
  derailment: `
derails  derails
derails  It derails.
derails  The conversation derails.
derails  This conversation derails.
derails  The given discussion derails.
derails  So the conversation derails.
derails  Answer: derails
derails  Answer: it derails.
derails  The prediction is derails.
stays civil  stays civil
stays civil  It stays civil.
stays civil  The conversation stays civil.
stays civil  The whole discussion stays civil.
stays civil  Therefore, the conversation stays civil.
stays civil  My prediction: stays civil
stays civil  The answer is "stays civil".`,
  stance: `
support  Support
support  It supports.
support  The reply supports.
support  Stance: Support
support  The stance of the post is Support.
deny  The post denies.
deny  The stance is Deny.
deny  Therefore, the stance is: Deny
deny  I classify the reply as Deny.
query  The stance of the reply is Question.
query  The post is a question.
query  Answer: Question.
comment  The reply is a comment.
comment  Label: Comment
comment  The post is classified as a comment.`,
  weibo: `
谣言  谣言
谣言  「谣言」。
谣言  这是谣言。
谣言  该微博是谣言。
谣言  这条消息属于谣言。
谣言  答案：谣言
谣言  最终答案：谣言。
谣言  因此，这条微博是谣言。
谣言  我认为这条微博是谣言。
非谣言  非谣言
非谣言  这是非谣言。
非谣言  该帖子属于非谣言。
非谣言  答案是非谣言。
非谣言  结论：非谣言`,
  french: `
rumeur  Rumeur.
rumeur  C'est une rumeur.
rumeur  Cette publication est une rumeur.
rumeur  La réponse est rumeur.
rumeur  Réponse : rumeur
rumeur  Donc, c'est une rumeur.
fait  Réponse finale : fait
fait  C'est un fait.`,
  german: `
Gerücht  Gerücht
Gerücht  Das ist ein Gerücht.
Gerücht  Der Beitrag ist ein Gerücht.
Gerücht  Antwort: Gerücht
Gerücht  Die Antwort lautet: Gerücht
kein Gerücht  Das ist kein Gerücht.
Fakt  Die Meldung ist eindeutig ein Fakt.
Fakt  Die richtige Antwort ist Fakt.`,
  spanish: `
bulo  Bulo.
bulo  Es un bulo.
bulo  Esta noticia es un bulo.
bulo  Respuesta: bulo
bulo  La respuesta es bulo.
bulo  Por lo tanto, es un bulo.
verificado  La respuesta final es verificado.
verificado  Este mensaje es verificado.`,
};

const none: Record<TaskName, string> = {
  rumor: `
It is not a rumor.
It isn't a rumor.
It is no rumor.
It is never a rumor.
It is hardly a rumor.
It is neither a rumor nor news.
It is anything but a rumor.
It is far from being a rumor.
This is not really a rumor.
The thread is not a rumor.
The thread is by no means a rumor.
The claim cannot be a rumor.
It was a rumor.
It was never a rumor.
It used to be a rumor.
It would be a rumor.
It could be a rumor.
It may be a rumor.
It might be a rumor.
It is likely a rumor.
It is probably a rumor.
It is possibly a rumor.
It is perhaps a rumor.
It is almost a rumor.
It is partly a rumor.
It is said to be a rumor.
It is called a rumor.
It is alleged that it is a rumor.
It is unclear whether it is a rumor.
It is hard to say that it is a rumor.
It is wrong that it is a rumor.
It is false that this is a rumor.
It appears to be a rumor.
It seems to be a rumor.
It looks like a rumor.
It sounds like a rumor.
It starts as a rumor.
It is about a rumor.
It is based on a rumor.
It is more than a rumor.
It is less a fact than a rumor.
It is the opposite of a rumor.
It is an answer to a rumor.
It debunks a rumor.
The thread denies the rumor.
The thread corrects a rumor.
The reply is not a rumor.
The second post is a rumor.
Another post is a rumor.
Part of the thread is a rumor.
Some of these posts are a rumor.
None of the posts is a rumor.
No post is a rumor.
Nothing in the thread is a rumor.
Nobody says that it is a rumor.
Few would say that it is a rumor.
They say it is a rumor.
Users say that the claim is a rumor.
The user asks whether it is a rumor.
Is it a rumor?
Isn't it a rumor?
If nobody confirms it, it is a rumor.
Unless it is confirmed, it is a rumor.
When it was posted, it is a rumor.
The denial of the claim is a rumor.
What is not confirmed is a rumor.
The opposite claim is a rumor.
I think it is a rumor.
I believe that it is a rumor.
I doubt that it is a rumor.
I cannot conclude that it is a rumor.
I would not classify it as a rumor.
I refuse to classify it as a rumor.
I do not choose Rumor.
I am not sure that it is a rumor.
The answer is not a rumor.
The answer is not Yes.
The answer is not No.
The answer could be Yes.
The answer may be Yes.
The answer is likely Yes.
The answer is anything but Yes.
The answer is Yes or No.
The answer is neither Yes nor No.
The answer is either No or Yes.
The answer was Yes.
The answer would have been Yes.
The wrong answer is Yes.
A wrong answer: Yes
Another answer: Yes
The opponent's answer is Yes.
Their verdict: rumor
The other verdict is Rumor.
Answer: not a rumor
Answer: no rumor
Answer: Yes?
Answer: Yes...
Answer: Yes, I think
Answer: Yes/No
Answer: ~~Yes~~
Answer: ≠ rumor
Answer: Answer: Yes
Answer:
Not Yes
Not a rumor
No rumor
No doubt a rumor
Hardly a rumor
Maybe a rumor
Possibly: rumor
Non rumor
Nonrumor
Rumored
Yes-man
Yes?
Yes…
Yes*
Yes & No
50% Yes
Yes 50%
Yes and No
Yes or No
Rumor or non-rumor
Rumor vs non-rumor
A rumor is a rumor.
Real or rumor
True rumor of a rumor
Rumor mill
The thread rumor
This rumor
As an AI, I say Yes
I can't help with that, so Yes
Sorry, Yes
> Rumor
- Rumor
| Rumor |
{rumor}
rumor: false
rumor = 0`,
  veracity: `
The claim is not true.
The claim isn't true.
The claim is untrue.
The claim is partly true.
The claim is half true.
The claim is mostly true.
The claim is not entirely false.
The claim is neither true nor false.
The claim is true or false.
The claim is as yet unverified.
The claim remains unverified.
The claim is said to be true.
The claim is reported to be true.
The claim is too good to be true.
It cannot be true.
It holds true.
It came true.
If true
The veracity of the denial is True.
The veracity is not True.
The veracity is unknown, not false.
The claim that it is false is true.
That it is false is unverified.
What it says of the claim is false.
The second claim is false.
A false claim
No false claim
Mostly false
Not false
Likely true
Unverified: it may be true`,
  news: `
The news is not fake.
The news is not real.
The news is hardly fake.
The news about the fake is real.
The fake news is real.
The article is about fake news.
The news appears fake.
The article is a real mess.
Not fake
Half real`,
  derailment: `
The conversation never derails.
The conversation almost derails.
The conversation stays civil until it derails.
The conversation hardly stays civil.
Nobody derails.
If it derails
It may stay civil.
The conversation`,
  stance: `
The post does not support.
The post neither supports nor denies.
The reply questions the comment
The stance is not Deny.
This question
No comment`,
  weibo: `
这不是谣言。
这并非谣言。
这可能是谣言。
这是不是谣言
有人说这是谣言。
答案不是谣言。
谣言还是非谣言
辟谣言`,
  french: `
Ce n'est pas une rumeur.
La réponse n'est pas rumeur.
C'est peut-être une rumeur.`,
  german: `
Das ist nicht ein Gerücht.
Die Antwort ist nicht Gerücht.
Das ist vielleicht ein Fakt.`,
  spanish: `
No es un bulo.
La respuesta no es bulo.
Quizás es un bulo.`,
};

const linesOf = (block: string) => block.trim().split('\n');
const names = Object.keys(tasks).filter((name): name is TaskName => name in tasks);

function labelOf(text: string, words: AnswerWords): string | null {
  const read = readVerdict({ text }, words);
  return 'value' in read ? read.value.label : null;
}

/** Whether a text is a word of the task, but for marks around it, one stop and its case. */
function isWord(text: string, words: AnswerWords): boolean {
  const bare = text.replace(/\\\w+|<\/?answer>|[^\p{L}\p{M}\u2011 -]/gu, '').replace('\u2011', '-');
  return Object.values(words).some((each) => each.some((word) => word.toLowerCase() === bare.toLowerCase()));
}

it('reads the 27 of 200 answers that are a word, and no sentence', () => {
  const all = names.flatMap((name) =>
    linesOf(answers[name]).map((line) => {
      const [label, text] = line.split('  ');
      return { text, label: isWord(text, tasks[name]) ? label : null, read: labelOf(text, tasks[name]) };
    }),
  );
  expect(all.filter(({ label, read }) => label !== read)).toEqual([]);
  expect(all.filter(({ read }) => read !== null)).toHaveLength(27);
  expect(all.length).toBeGreaterThanOrEqual(200);
});

it('reads none of 200 texts that are no answer', () => {
  const all = names.flatMap((name) => linesOf(none[name]).map((text) => ({ text, read: labelOf(text, tasks[name]) })));
  expect(all.filter(({ read }) => read !== null)).toEqual([]);
  expect(all.length).toBeGreaterThanOrEqual(200);
});

it('knows no label but those of the task', () => {
  for (const text of linesOf(answers.rumor).map((line) => line.split('  ')[1]))
    expect([text, labelOf(text, { spam: ['spam'], ham: ['ham'] })]).toEqual([text, null]);
  expect(labelOf('Spam.', { spam: ['spam'], ham: ['ham'] })).toBe('spam');
});
