/** The commands of attempts keep the laws of all commands, over each store and with claims that come and go. */
import { describeOnStores } from "./laws-on-stores.js";
import { attemptWishes, runArea } from "./run-wishes.js";

describeOnStores("attempts", { ...runArea, wishes: attemptWishes });
