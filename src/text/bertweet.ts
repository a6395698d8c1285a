import { withoutEntities } from './entities.ts';

const token = new RegExp(
  [
    // Links, with a scheme or without, not ending in punctuation of the sentence; bare domains, not parts of addresses.
    String.raw`(?:https?:(?:\/{1,3}|[a-z0-9%])|www\.|[a-z0-9.\-]+\.[a-z]{2,13}\/)[^\s<>{}\[\]]*[^\s!()\[\]{};:'".,<>?«»“”‘’\x60]`,
    String.raw`(?<![@\w])[a-z0-9]+(?:[.\-][a-z0-9]+)*\.[a-z]{2,13}\b\/?(?!@)`,
    String.raw`(?:\+?[01][\-\s.]*)?(?:\(?\d{3}[\-\s.)]*)?\d{3}[\-\s.]*\d{4}`,
    // Emoticons in both directions, and the heart.
    String.raw`[<>]?[:;=8][\-o*']?[)\](\[dp\/:}{@|\\]|[)\](\[dp\/:}{@|\\][\-o*']?[:;=8][<>]?|<\/?3`,
    String.raw`<[^>\s]+>`,
    '-+>|<-+',
    String.raw`[\w.+\-]+@[\w\-]+\.(?:[\w\-]\.?)+[\w\-]`,
    String.raw`@[\p{L}\p{N}_]+`,
    String.raw`#+[\p{L}\p{N}_]+[\p{L}\p{N}_'\-]*[\p{L}\p{N}_]+`,
    // Words with inner apostrophes and dashes, numbers with inner signs, other words, dots in a row, anything else.
    String.raw`\p{L}[\p{L}'\-_]+\p{L}`,
    String.raw`[+\-]?\d+[,\/.:\-]\d+[+\-]?`,
    String.raw`[\p{L}\p{N}_]+`,
    String.raw`\.(?:\s*\.)+`,
    String.raw`\S`,
  ].join('|'),
  'giu',
);

/**
 * A tweet in the form of BERTweet's training (VinAI's TweetNormalizer over NLTK's TweetTokenizer): tokens separated by
 * spaces, handles as @USER, links as HTTPURL, emoji by name, plain apostrophes and ellipses, contractions split.
 * https://github.com/VinAIResearch/BERTweet Differs in rare cases: HTML entities other than numbers and the six common
 * ones stay, and so do emoji without an entry in `emojiAliases`.
 */
export function normalizeTweet(text: string): string {
  const plain = withoutEntities(text.replaceAll('’', "'").replaceAll('…', '...'))
    // NLTK shortens a run of one sign to three before it looks for tokens.
    .replace(/([^a-zA-Z0-9])\1{3,}/gu, '$1$1$1');
  const words = (plain.match(token) ?? []).map(normalizeToken).join(' ');
  return joinTimes(splitContractions(words)).replace(/\s+/gu, ' ').trim();
}

function normalizeToken(word: string): string {
  if (word.startsWith('@')) return word.length > 1 ? '@USER' : word;
  if (/^(?:http|www)/iu.test(word)) return 'HTTPURL';
  return emojiAliases.get(word) ?? word;
}

/** Only before a space, because in training the last word of a tweet kept its contraction. */
function splitContractions(text: string): string {
  return text
    .replaceAll('cannot ', 'can not ')
    .replace(/n ?'t /gu, " n't ")
    .replace(/\b(ca|ai) n't/gu, (_, stem) => (stem === 'ca' ? "can't" : "ain't"))
    .replace(/'(m|re|s|ll|d|ve) /gu, " '$1 ");
}

function joinTimes(text: string): string {
  return text.replace(/ ([ap]) \. m( \.|(?= ))/gu, (_, half, dot) => ` ${half}.m${dot === '' ? '' : '.'}`);
}

/**
 * English names (Unicode CLDR short names, like the Python package `emoji`) of nearly all emoji in posts about news.
 * The full list has thousands of entries; any other emoji stays. Only single code points: BERTweet's preparation named
 * no others.
 */
const names = `
😂 face_with_tears_of_joy 🤣 rolling_on_the_floor_laughing 😭 loudly_crying_face 😢 crying_face 😳 flushed_face
😱 face_screaming_in_fear 😩 weary_face 😫 tired_face 😍 smiling_face_with_heart-eyes 😒 unamused_face 😔 pensive_face
😡 pouting_face 😠 angry_face 😷 face_with_medical_mask 😊 smiling_face_with_smiling_eyes 🙄 face_with_rolling_eyes
😁 beaming_face_with_smiling_eyes 😐 neutral_face 😞 disappointed_face 😴 sleeping_face 😉 winking_face 😕 confused_face
🤔 thinking_face 😥 sad_but_relieved_face 😅 grinning_face_with_sweat 😏 smirking_face 😖 confounded_face 😨 fearful_face
😰 anxious_face_with_sweat 😓 downcast_face_with_sweat 😑 expressionless_face 😄 grinning_face_with_smiling_eyes
😆 grinning_squinting_face 😘 face_blowing_a_kiss 😪 sleepy_face 😀 grinning_face 😈 smiling_face_with_horns
😜 winking_face_with_tongue 😦 frowning_face_with_open_mouth 😃 grinning_face_with_big_eyes 😤 face_with_steam_from_nose
😟 worried_face 😮 face_with_open_mouth 😎 smiling_face_with_sunglasses 😧 anguished_face ☺ smiling_face
😣 persevering_face 😵 dizzy_face 😬 grimacing_face 🙃 upside-down_face 😌 relieved_face 😝 squinting_face_with_tongue
😶 face_without_mouth 😯 hushed_face 😇 smiling_face_with_halo 🥺 pleading_face 😲 astonished_face 🤧 sneezing_face
🤬 face_with_symbols_on_mouth 🙂 slightly_smiling_face 🙁 slightly_frowning_face ☹ frowning_face 🤢 nauseated_face
🤮 face_vomiting 🤨 face_with_raised_eyebrow 👿 angry_face_with_horns 😋 face_savoring_food 😗 kissing_face
😙 kissing_face_with_smiling_eyes 😚 kissing_face_with_closed_eyes 😛 face_with_tongue 🤒 face_with_thermometer
🤕 face_with_head-bandage 🤗 hugging_face 🤯 exploding_head 🤡 clown_face 🤪 zany_face 🤩 star-struck
🥳 partying_face 🤥 lying_face 🤫 shushing_face 🤓 nerd_face 🤐 zipper-mouth_face 🤑 money-mouth_face
🧐 face_with_monocle 💀 skull 💩 pile_of_poo 👹 ogre 👺 goblin 🙈 see-no-evil_monkey 🙉 hear-no-evil_monkey
🙊 speak-no-evil_monkey 😹 cat_with_tears_of_joy 🙀 weary_cat
❤ red_heart 💔 broken_heart 💘 heart_with_arrow 💜 purple_heart 💙 blue_heart 💚 green_heart 💛 yellow_heart
🧡 orange_heart 🖤 black_heart 💕 two_hearts 💖 sparkling_heart 💗 growing_heart 💓 beating_heart 💞 revolving_hearts
💝 heart_with_ribbon ♥ heart_suit 💋 kiss_mark 💯 hundred_points 💥 collision 💢 anger_symbol 💨 dashing_away
💦 sweat_droplets 💫 dizzy 💤 zzz 💣 bomb
✋ raised_hand 👋 waving_hand 🙏 folded_hands 🙌 raising_hands 👏 clapping_hands 👍 thumbs_up 👎 thumbs_down 👌 OK_hand
✌ victory_hand 🤞 crossed_fingers 🤝 handshake 👇 backhand_index_pointing_down 👉 backhand_index_pointing_right
👆 backhand_index_pointing_up 👈 backhand_index_pointing_left ☝ index_pointing_up ✊ raised_fist 👊 oncoming_fist
💪 flexed_biceps 🖕 middle_finger 👐 open_hands 🤲 palms_up_together ✍ writing_hand 👀 eyes 👂 ear 👅 tongue
🏻 light_skin_tone 🏼 medium-light_skin_tone 🏽 medium_skin_tone 🏾 medium-dark_skin_tone 🏿 dark_skin_tone
🙅 person_gesturing_NO 🙆 person_gesturing_OK 🤦 person_facepalming 🤷 person_shrugging 🙋 person_raising_hand
💁 person_tipping_hand 🙇 person_bowing 🚶 person_walking 🏃 person_running 🏊 person_swimming 👮 police_officer
👥 busts_in_silhouette 👶 baby 👼 baby_angel 🎅 Santa_Claus ♂ male_sign ♀ female_sign
🚨 police_car_light 🚔 oncoming_police_car 🚓 police_car 🚑 ambulance 🚒 fire_engine 🔫 pistol 🔪 kitchen_knife 🏥 hospital
✈ airplane 🚀 rocket 📡 satellite_antenna 📌 pushpin 📢 loudspeaker 📣 megaphone 📰 newspaper 📷 camera
📸 camera_with_flash 🎥 movie_camera 🔎 magnifying_glass_tilted_right 🔍 magnifying_glass_tilted_left 💰 money_bag
💸 money_with_wings 👑 crown 🔮 crystal_ball 💊 pill 🦠 microbe 🧼 soap 🕯 candle 🕊 dove 🗽 Statue_of_Liberty
🎉 party_popper 🎈 balloon 🎂 birthday_cake 🎄 Christmas_tree 🎵 musical_note 🎶 musical_notes 🏆 trophy 🏅 sports_medal
☕ hot_beverage 🍺 beer_mug 🍷 wine_glass 🍸 cocktail_glass 🍹 tropical_drink
🌍 globe_showing_Europe-Africa 🌎 globe_showing_Americas 🌏 globe_showing_Asia-Australia 🌐 globe_with_meridians
🌟 glowing_star ⭐ star ✨ sparkles 🔥 fire ⚡ high_voltage 🌈 rainbow ☀ sun 🌞 sun_with_face 🌚 new_moon_face
🌝 full_moon_face ❄ snowflake ⛄ snowman_without_snow 🌹 rose 💐 bouquet 🍀 four_leaf_clover 🌲 evergreen_tree
🐶 dog_face 🐕 dog 🐍 snake 🐘 elephant 🐸 frog 🐌 snail 🐾 paw_prints
☑ check_box_with_check ✔ check_mark ✅ check_mark_button ❌ cross_mark ❗ exclamation_mark ‼ double_exclamation_mark
❓ question_mark ❔ white_question_mark ⚠ warning 🚫 prohibited ⭕ hollow_red_circle 🔴 red_circle ➡ right_arrow
⬆ up_arrow 🆓 FREE_button 🆘 SOS_button 🔆 bright_button 🔹 small_blue_diamond © copyright ® registered ™ trade_mark`;

/** `:name:` by emoji. */
const emojiAliases: ReadonlyMap<string, string> = new Map(
  Array.from(names.matchAll(/(\S+) (\S+)/gu), ([, emoji, name]) => [emoji, `:${name}:`]),
);

const SPECIAL = ['<s>', '<pad>', '</s>', '<unk>'];

/**
 * Converts BERTweet's byte-pair encoding (https://huggingface.co/vinai/bertweet-base): `vocab.txt` (pieces, with `@@`
 * if the word continues) and `bpe.codes` (merges with counts, with `</w>` at the end of a word). The published
 * tokenizer.json splits `@USER` and `:name:` at punctuation, which the model never saw in training.
 * @returns the contents of a tokenizer.json that is equivalent to the two files
 */
export function bertweetTokenizerJson(options: { vocabulary: string; merges: string }): object {
  const vocab: Record<string, number> = Object.fromEntries(SPECIAL.map((token, id) => [token, id]));
  let next = SPECIAL.length;
  for (const line of options.vocabulary.split('\n')) {
    const piece = line.slice(0, line.lastIndexOf(' ')).trim();
    if (piece !== '') vocab[piece.endsWith('@@') ? piece : `${piece}</w>`] ??= next++;
  }
  const merges = options.merges
    .split('\n')
    .map((line) => line.split(' ').slice(0, 2))
    .filter((pair) => pair.length === 2);
  return {
    added_tokens: [...SPECIAL.map((content, id) => ({ content, id })), { content: '<mask>', id: next }].map(
      (token) => ({
        ...token,
        special: true,
        single_word: false,
        lstrip: false,
        rstrip: false,
        normalized: false,
      }),
    ),
    normalizer: null,
    pre_tokenizer: { type: 'WhitespaceSplit' },
    post_processor: {
      type: 'TemplateProcessing',
      single: [
        { SpecialToken: { id: '<s>', type_id: 0 } },
        { Sequence: { id: 'A', type_id: 0 } },
        { SpecialToken: { id: '</s>', type_id: 0 } },
      ],
      pair: [],
      special_tokens: {},
    },
    decoder: null,
    model: {
      type: 'BPE',
      unk_token: '<unk>',
      end_of_word_suffix: '</w>',
      continuing_subword_suffix: '@@',
      vocab,
      merges,
    },
  };
}

/** The contents of the matching tokenizer_config.json. */
export const bertweetTokenizerConfig = {
  bos_token: '<s>',
  pad_token: '<pad>',
  eos_token: '</s>',
  unk_token: '<unk>',
  sep_token: '</s>',
  mask_token: '<mask>',
};
