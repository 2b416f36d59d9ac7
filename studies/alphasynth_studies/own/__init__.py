"""The study of Supp 5 on databases of one's own: another generator, another model, another n."""
