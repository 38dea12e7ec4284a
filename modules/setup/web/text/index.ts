import { texts } from "@/text";
import { en } from "./en";

export const { knows, plural, t, word } = texts("setup", en);
