/** The commands of runs keep the laws of all commands, over each store and with claims that come and go. */
import { describeOnStores } from "./laws-on-stores.js";
import { runArea, runWishes } from "./run-wishes.js";

describeOnStores("runs", { ...runArea, wishes: runWishes });
