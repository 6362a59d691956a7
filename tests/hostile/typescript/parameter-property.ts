// expect: completed 5
class A { constructor(private readonly x: number, public y = 2) {} sum() { return this.x + this.y; } } return new A(3).sum();
