/** The name that `earshot select` had: `earshot jsdrv select` still works, and says so. */
export { selectCommand as jsdrvCommand } from './select.ts';
