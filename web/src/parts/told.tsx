import { plain } from "../core/plain";
import { language } from "../text";

/** Longest shown text of the router, in characters: a few sentences. */
const LONGEST = 2000;

/** An English text of the router: marked as such in a page of another language. */
export function Told({ text }: { text: string }) {
  const shown = plain(text, LONGEST);
  return language.get() === "en" ? (
    <bdi>{shown}</bdi>
  ) : (
    <bdi lang="en" dir="ltr">
      {shown}
    </bdi>
  );
}
