// expect: completed 2
namespace N { export const a = 2; } import A = N; return A.a;
