"""The generators of the pages in docs/ that are made from data of the tree. No part of the product."""
