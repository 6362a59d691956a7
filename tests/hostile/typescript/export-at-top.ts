// expect: failed module_access_denied
export const a: number = 1;
