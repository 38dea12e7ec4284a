import { texts } from "../../../text";
import { de } from "./de";
import { en } from "./en";

export const { t, word } = texts({ en, de });
