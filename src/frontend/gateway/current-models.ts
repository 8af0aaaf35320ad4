import type { Catalogue } from '../../fleet/catalogue/catalogue.js';
import { Models } from './models.js';

/** The models of what is served now; made again only when the catalogue is another object. */
export function currentModels(catalogue: () => Catalogue): () => Models {
  let made: { readonly of: Catalogue; readonly models: Models } | undefined;
  return () => {
    const served = catalogue();
    if (made?.of !== served) made = { of: served, models: new Models(served) };
    return made.models;
  };
}
