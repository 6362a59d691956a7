// expect: failed guest_error
abstract class A { abstract m(): void; } return new (A as any)().m();
