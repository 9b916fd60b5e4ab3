/** The commands of definitions keep the laws of all commands, over each store and with claims that come and go. */
import { describeOnStores } from "./laws-on-stores.js";
import { registered, runArea } from "./run-wishes.js";

describeOnStores("definitions", { ...runArea, wishes: registered });
