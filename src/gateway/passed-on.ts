/** Notifications of servers that concern every client, in every kind of connection. */
export const passedOn = /^notifications\/(resources|prompts)\/|^notifications\/message$/;
