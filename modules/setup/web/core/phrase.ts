// A password that is easy to read out and type. Pure: the caller passes random numbers.

const CONSONANTS = "bdfgklmnprstvz";
const VOWELS = "aeiou";
/** Syllables of a word, and words. 12 syllables of 70 are 73 bits, the digits 6 more. */
const SYLLABLES = 3;
const WORDS = 4;

/** Number of random numbers that are needed, each from 0 up to 2³². */
export const NUMBERS = WORDS * SYLLABLES * 2 + 1;

/** `Bofanu-tigemo-lazire-pukedo-52`: four meaningless words, and two digits. */
export function phrase(numbers: ArrayLike<number>): string {
  let at = 0;
  const next = (below: number) => Math.floor(((numbers[at++] ?? 0) / 2 ** 32) * below);
  const words = Array.from({ length: WORDS }, () =>
    Array.from(
      { length: SYLLABLES },
      () => `${CONSONANTS[next(CONSONANTS.length)]}${VOWELS[next(VOWELS.length)]}`,
    ).join(""),
  );
  const text = words.join("-");
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}-${10 + next(90)}`;
}
