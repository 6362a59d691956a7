// expect: completed 8
class A { #x = 8 as const; get() { return this.#x as number; } } return new A().get();
