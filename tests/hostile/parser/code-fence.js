// expect: completed 1
// with: straight
```js
return 1;
```
