/** The judge's answer when neither side is convincing. */
export const insufficient = 'insufficient';

/** §4.1.1 */
export const linguisticDimensions = [
  { name: 'sentence', meaning: 'how complex the words are, how long the sentences, how formal the tone' },
  { name: 'word', meaning: 'how frequent superlatives and words of emotion are, and which pronouns are used' },
  { name: 'grammar', meaning: 'how speech is reported, and how the passive voice and negation are used' },
  { name: 'emotion', meaning: 'words of emotion in text and headline, and how inflammatory the tone is' },
  {
    name: 'information quality',
    meaning: 'signs of clickbait, of overload with information, and of statements out of their context',
  },
];
