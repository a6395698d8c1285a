/** They hold the verdicts that detectors are measured against. The first three are the paper's. */
export const factCheckDomains = [
  'gossipcop.com',
  'politifact.com',
  'snopes.com',
  'factcheck.org',
  'fullfact.org',
  'leadstories.com',
  'checkyourfact.com',
  'truthorfiction.com',
  'hoax-slayer.com',
  'hoax-slayer.net',
  'factcheck.afp.com',
  'mediabiasfactcheck.com',
  'emergent.info',
  'poynter.org',
];

/** News: they would mostly return the report itself and copies of it. */
export const newsDomains = [
  'news.google.com',
  'news.yahoo.com',
  'msn.com',
  'nytimes.com',
  'washingtonpost.com',
  'wsj.com',
  'usatoday.com',
  'latimes.com',
  'nypost.com',
  'cnn.com',
  'foxnews.com',
  'nbcnews.com',
  'cbsnews.com',
  'abcnews.go.com',
  'npr.org',
  'apnews.com',
  'reuters.com',
  'bbc.com',
  'bbc.co.uk',
  'theguardian.com',
  'telegraph.co.uk',
  'independent.co.uk',
  'dailymail.co.uk',
  'thesun.co.uk',
  'mirror.co.uk',
  'politico.com',
  'thehill.com',
  'huffpost.com',
  'huffingtonpost.com',
  'breitbart.com',
  'time.com',
  'newsweek.com',
  'people.com',
  'usmagazine.com',
  'eonline.com',
  'etonline.com',
  'tmz.com',
  'radaronline.com',
  'hollywoodlife.com',
];

/** Asked on their own. */
export const encyclopediaDomains = ['wikipedia.org'];

/** Whether an address lies in one of the domains or below it. An address that cannot be read counts as excluded. */
export function isInDomains(url: string, domains: readonly string[]): boolean {
  if (!URL.canParse(url)) return true;
  const host = new URL(url).hostname.toLowerCase();
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}
