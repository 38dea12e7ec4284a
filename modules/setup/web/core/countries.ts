// Countries of ISO 3166-1, by their codes. Their names are the browser's, in the page's language.

/** All codes; the router has the same list. */
export const CODES: readonly string[] = `
AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN
BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ
DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL
GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM
JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME
MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP
NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW SA SB SC SD
SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO
TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
`
  .trim()
  .split(/\s+/);

/** All countries, by name in a language. A code that is not in the list stays. */
export function countries(language: string, known: string): { value: string; text: string }[] {
  const names = new Intl.DisplayNames(language, { type: "region" });
  const all = known === "" || CODES.includes(known) ? CODES : [...CODES, known];
  const named = all.map((value) => ({ value, text: name(names, value) }));
  const { compare } = new Intl.Collator(language);
  return named.sort((a, b) => compare(a.text, b.text));
}

/** A name and a code: `Germany (DE)`. */
function name(names: Intl.DisplayNames, code: string): string {
  try {
    const found = names.of(code);
    return found === undefined || found === code ? code : `${found} (${code})`;
  } catch {
    // The configuration may hold an invalid region.
    return code;
  }
}
