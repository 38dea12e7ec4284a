import { texts } from "@/text";
import { en } from "./en";

export const { plural, t, word } = texts("portal", en);
