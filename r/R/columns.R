# Columns to Python and back: bytes and levels, so that no type is guessed on the way.

KINDS <- "numbers, integers, logicals, characters, factors, Dates or haven's labelled numbers and characters"

# What Python makes a column from; NULL for a type that has no counterpart.
to_python <- function(x, name) {
  kind <- kind_of(x)
  if (is.null(kind)) return(NULL)
  levels <- list()
  if (kind == "double") {
    bytes <- to_bytes(unclass(x))
  } else {
    if (kind == "character") {
      values <- enc2utf8(as.character(unclass(x)))
      found <- unique(values[!is.na(values)])
      codes <- match(values, found, incomparables = NA)
      levels <- as.list(found)
    } else if (kind == "Date") {
      codes <- as.integer(floor(unclass(x)))
    } else {
      codes <- as.integer(unclass(x))
      if (kind == "factor") levels <- as.list(enc2utf8(levels(x)))
    }
    bytes <- writeBin(codes, raw())
  }
  list(name = enc2utf8(name), kind = kind, bytes = bytes, levels = levels, ordered = is.ordered(x))
}

kind_of <- function(x) {
  if (!is.null(dim(x))) return(NULL)
  if (is.factor(x)) return("factor")
  if (inherits(x, "Date")) return("Date")
  if (is.object(x) && !inherits(x, "haven_labelled")) return(NULL)
  if (typeof(x) %in% c("double", "integer", "logical", "character")) typeof(x)
}

# The columns of a data frame; a column in use that has no counterpart is refused, another is left out.
table_to_python <- function(data, used) {
  if (!is.data.frame(data)) refuse("data must be a data frame, found an object of class ", class(data)[1])
  columns <- mapply(to_python, data, names(data), SIMPLIFY = FALSE, USE.NAMES = FALSE)
  for (i in which(vapply(columns, is.null, NA) & names(data) %in% used)) {
    refuse("column '", names(data)[i], "' must hold ", KINDS, ", found class ", class(data[[i]])[1])
  }
  for (i in which(vapply(data, function(x) is.factor(x) && anyNA(levels(x)), NA) & names(data) %in% used)) {
    refuse("column '", names(data)[i], "' must not have NA among its levels; missing values need none")
  }
  unname(columns[!vapply(columns, is.null, NA)])
}

# A synthetic column as the original was: `declared` levels go before those that the original has.
from_python <- function(made, original, declared) {
  if (made$kind == "double") {
    x <- from_bytes(made$bytes)
  } else {
    x <- readBin(made$bytes, "integer", length(made$bytes) %/% 4L)
  }
  if (made$kind %in% c("factor", "character")) {
    x <- as.character(unlist(made$levels))[x]
  } else if (made$kind == "logical") {
    x <- as.logical(x)
  } else if (made$kind == "Date") {
    x <- structure(as.double(x), class = "Date")
  }
  if (is.factor(original)) {
    x <- factor(x, levels_of(made, original, declared), ordered = is.ordered(original))
  } else if (inherits(original, "haven_labelled")) {
    storage.mode(x) <- typeof(original)
    attributes(x) <- attributes(original)[setdiff(names(attributes(original)), "names")]
  }
  x
}

levels_of <- function(made, original, declared) {
  if (!is.null(declared)) return(as.character(unlist(declared)))
  levels(original)[levels(original) %in% as.character(unlist(made$levels))]
}

table_from_python <- function(made, data, declared) {
  columns <- lapply(made, function(one) from_python(one, data[[one$name]], declared[[one$name]]$levels))
  names(columns) <- vapply(made, function(one) one$name, "")
  # Not data.frame(), which would change names that are no names of R.
  structure(columns, class = "data.frame", row.names = .set_row_names(length(columns[[1L]])))
}

# Levels of a factor, or of text those that occur.
levels_in <- function(x) if (is.factor(x)) levels(x) else sort(unique(as.character(x)))
