// expect: failed invalid_input
// with: straight
```js
return 1;
```
```js
return 2;
```
