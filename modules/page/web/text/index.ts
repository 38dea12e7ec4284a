import { texts } from "@/text";
import { en } from "./en";

export const { t, word } = texts("account", en);
