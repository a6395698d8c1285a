import { describe, expect, it } from 'vitest';
import { normalizeTweet } from '../../../src/text/bertweet.ts';
import { maskHandlesAndUrls, normalizeText } from '../../../src/text/text-scanner.ts';

describe('normalizeText', () => {
  it('makes compatibility forms plain and spaces single', () => {
    expect(normalizeText('  ＡＢＣ！\n\tﬁre\u00a0 𝐛𝐨𝐥𝐝 ')).toBe('ABC! fire bold');
    expect(normalizeText('e\u0301')).toBe('é');
    expect(normalizeText('plain text')).toBe('plain text');
    expect(normalizeText(' \n ')).toBe('');
  });
});

describe('maskHandlesAndUrls', () => {
  it('replaces handles and links, in Chinese posts too, and leaves addresses', () => {
    expect(maskHandlesAndUrls('@bbc see https://t.co/a1?b=c and www.cnn.com')).toBe('@USER see HTTPURL and HTTPURL');
    expect(maskHandlesAndUrls('看http://t.cn/zl0转发@user')).toBe('看HTTPURL转发@user');
    expect(maskHandlesAndUrls('转发 @user')).toBe('转发 @USER');
    expect(maskHandlesAndUrls('mail a@b.org')).toBe('mail a@b.org');
  });
});

describe('normalizeTweet', () => {
  const cases: [string, string][] = [
    ['@CNN: BREAKING http://t.co/Ab1 via @cnnbrk', '@USER : BREAKING HTTPURL via @USER'],
    ['so sad 😂😂 ❤', 'so sad :face_with_tears_of_joy: :face_with_tears_of_joy: :red_heart:'],
    ['It’s true… we don’t know', "It 's true ... we do n't know"],
    ["I cannot and can't, ain't it", "I can not and can't , ain't it"],
    ['at 5 p.m. today', 'at 5 p.m. today'],
    ['#Ferguson: police-officer shot? :-) <3', '#Ferguson : police-officer shot ? :-) <3'],
    ['Tom &amp; Jerry &lt;b&gt; &#128514;', 'Tom & Jerry <b> :face_with_tears_of_joy:'],
    ['what?!!!!!!', 'what ? ! ! !'],
    ['read (www.bbc.co.uk/news).', 'read ( HTTPURL ) .'],
    ['Continue.', 'Continue .'],
    ['', ''],
  ];
  it.each(cases)('%j → %j', (tweet, expected) => {
    expect(normalizeTweet(tweet)).toBe(expected);
  });
});
