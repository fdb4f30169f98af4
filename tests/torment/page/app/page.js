// The page would start here.
