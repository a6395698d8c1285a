/** Fact checkers publish the verdicts that detectors are measured by. The first three domains are the paper's. */
export const factCheckDomains = (
  'gossipcop.com politifact.com snopes.com factcheck.org fullfact.org leadstories.com checkyourfact.com ' +
  'truthorfiction.com hoax-slayer.com hoax-slayer.net factcheck.afp.com mediabiasfactcheck.com emergent.info ' +
  'poynter.org climatefeedback.org healthfeedback.org sciencefeedback.co africacheck.org altnews.in boomlive.in ' +
  'factly.in aap.com.au correctiv.org maldita.es newtral.es stopfake.org piyao.org.cn tfc-taiwan.org.tw ' +
  'mygopen.com'
).split(' ');

/** News sites would mostly return the report itself and its copies. The most frequent ones come first. */
export const newsDomains = (
  'nytimes.com cnn.com bbc.com washingtonpost.com foxnews.com theguardian.com dailymail.co.uk people.com ' +
  'reuters.com news.yahoo.com msn.com news.google.com wsj.com usatoday.com latimes.com nypost.com nbcnews.com ' +
  'cbsnews.com abcnews.go.com npr.org apnews.com bbc.co.uk telegraph.co.uk independent.co.uk thesun.co.uk ' +
  'mirror.co.uk politico.com thehill.com huffpost.com huffingtonpost.com breitbart.com time.com newsweek.com ' +
  'usmagazine.com eonline.com etonline.com tmz.com radaronline.com hollywoodlife.com'
).split(' ');

/** Wikipedia is queried separately; the others copy its present state. */
export const encyclopediaDomains = ['wikipedia.org', 'wikiwand.com', 'dbpedia.org'];

/** Whether an address belongs to one of the domains or their subdomains; true for an address that cannot be parsed. */
export function isInDomains(url: string, domains: readonly string[]): boolean {
  if (!URL.canParse(url)) return true;
  const host = new URL(url).hostname.toLowerCase();
  return domains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}
