import { openLedger } from "./dist/src/index.js";
