import { texts } from "../../../text";
import { de } from "./de";
import { en } from "./en";

export const { plural, t, word } = texts({ en, de });
