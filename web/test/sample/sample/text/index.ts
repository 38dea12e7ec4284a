import { texts } from "@/text";
import { en } from "./en";

export const { plural, t } = texts("sample", en);
