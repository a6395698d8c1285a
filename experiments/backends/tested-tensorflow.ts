/** The release that `earshot backend install` fetches, and the one that was tried with a Python of one's own. */
export const testedTensorflow = '2.20.0';
