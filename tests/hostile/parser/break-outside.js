// expect: failed invalid_input
break;
