/** Words that name nothing, also where they begin a sentence with a capital. */
const NO_NAMES = new Set(
  (
    'a about after again all also am an and another any are as at be because been before being both but by can could did ' +
    'do does during each every few for from get had has have he her here him his how however i if in into is it its just ' +
    'let made many may me might more most much must my never no not now of off on once one only or other our out over ' +
    'please rt same see she should so some such than thanks that the their them then there these they this those though ' +
    'to today too under until up us very via was we were what when where which while who whom why will with would yes ' +
    'yesterday you your breaking watch update'
  ).split(' '),
);

export function namesNothing(word: string): boolean {
  return NO_NAMES.has(word.toLowerCase().replace(/['’.].*$/, ''));
}
