export const selectorName = 'selector';
/** The same task models, reading every post at a test: what the policy is worth in training alone. */
export const allPostsName = 'selector-all-posts';
