import { render } from 'preact';
import { App } from '../views/app.js';
import { connect, showTheme } from '../views/state.js';

showTheme();
const root = document.createElement('div');
root.id = 'app';
document.body.append(root);
render(<App />, root);
connect();
