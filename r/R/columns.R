# Columns to Python and back: bytes and levels, so that no type is guessed on the way.

KINDS <- "numbers, integers, logicals, characters, factors, Dates or haven's labelled numbers and characters"
# What haven says of a column. Other attributes stay behind: they may hold anything.
DESCRIBED <- c("label", "labels", "format.spss", "format.stata", "format.sas", "display_width")
USER_MISSING <- c("na_values", "na_range")

# What Python makes a column from; user-missing codes of SPSS are values only `with_codes`.
to_python <- function(x, name, with_codes = FALSE) {
  kind <- kind_of(x)
  levels <- list()
  gone <- if (with_codes) FALSE else user_missing(x)
  if (kind == "double") {
    bytes <- to_bytes(replace(as.vector(unclass(x)), gone, NA))
  } else {
    if (kind == "character") {
      values <- replace(enc2utf8(as.vector(unclass(x))), gone, NA)
      found <- unique(values[!is.na(values)])
      codes <- match(values, found, incomparables = NA)
      levels <- as.list(found)
    } else {
      codes <- replace(as.integer(floor_of(x)), gone, NA)
      if (kind == "factor") levels <- as.list(enc2utf8(levels(x)))
    }
    bytes <- writeBin(codes, raw())
  }
  list(name = enc2utf8(name), kind = kind, bytes = bytes, levels = levels, ordered = is.ordered(x))
}

# Dates may be fractions of days.
floor_of <- function(x) if (inherits(x, "Date")) floor(unclass(x)) else unclass(x)

kind_of <- function(x) {
  if (!is.null(dim(x))) return(NULL)
  if (is.factor(x)) return("factor")
  if (inherits(x, "Date")) return("Date")
  if (is.object(x) && !inherits(x, "haven_labelled")) return(NULL)
  if (typeof(x) %in% c("double", "integer", "logical", "character")) typeof(x)
}

# Which values are missing by SPSS's codes; haven's own method is there only where haven is loaded.
user_missing <- function(x) {
  if (!inherits(x, "haven_labelled_spss")) return(FALSE)
  values <- as.vector(unclass(x))
  range <- attr(x, "na_range", exact = TRUE)
  gone <- values %in% attr(x, "na_values", exact = TRUE)
  if (is.null(range)) gone else gone | (!is.na(values) & values >= range[[1L]] & values <= range[[2L]])
}

# What keeps a column from going over, in words; NULL where nothing does.
fault_of <- function(x, name) {
  kind <- kind_of(x)
  if (is.null(kind)) return(paste0("must hold ", KINDS, ", found class ", class(x)[1]))
  text <- if (kind == "factor") levels(x) else if (kind == "character") as.vector(unclass(x))
  if (!is_sound(c(name, text))) return("must hold text, and have a name, in a known encoding, found some that is not")
  if (kind == "factor" && anyNA(text)) return("must not have NA among its levels; missing values need none")
  if (kind == "Date" && any(abs(unclass(x)) > .Machine$integer.max, na.rm = TRUE)) {
    return("must hold finite Dates, found one that is not")
  }
  NULL
}

# Whether text is what its encoding says; of other text the bytes would be changed on the way.
is_sound <- function(text) !any(Encoding(text) == "bytes") && all(validEnc(text)) && all(validUTF8(enc2utf8(text)))

# The columns of a data frame. One that cannot go over is refused where it is `used` by the model or `carried` along
# as a public column, and left out elsewhere.
table_to_python <- function(data, used, carried = NULL) {
  faults <- Map(fault_of, data, names(data))
  for (i in which(lengths(faults) & names(data) %in% c(used, carried))) {
    refuse("column '", names(data)[i], "' ", faults[[i]])
  }
  kept <- as.list(data)[lengths(faults) == 0L]
  unname(Map(to_python, kept, names(kept), !names(kept) %in% used))
}

# A synthetic column as the original was: `declared` levels go before those that the original has. Codes for missing
# values stay with a public column; among synthesized values they would be values.
from_python <- function(made, original, declared, public = FALSE) {
  x <- values_of(made)
  if (is.factor(original)) {
    x <- factor(x, levels_of(made, original, declared), ordered = is.ordered(original))
  } else if (inherits(original, "haven_labelled")) {
    return(labelled_as(x, original, public))
  }
  label <- attr(original, "label", exact = TRUE)
  if (is.character(label) && length(label) == 1L) attr(x, "label") <- as.vector(label)
  x
}

values_of <- function(made) {
  if (made$kind == "double") return(from_bytes(made$bytes))
  x <- readBin(made$bytes, "integer", length(made$bytes) %/% 4L)
  switch(made$kind,
    factor = , character = as.character(unlist(made$levels))[x],
    logical = as.logical(x), Date = structure(as.double(x), class = "Date"), x
  )
}

# Numbers that are no integers stay what they are, whatever the original was stored as.
labelled_as <- function(x, original, public) {
  type <- if (is.double(x) && is.integer(original)) "double" else typeof(original)
  classes <- class(original)
  kept <- Filter(is.atomic, attributes(original)[c(DESCRIBED, if (public) USER_MISSING)])
  kept <- lapply(Filter(Negate(is.null), kept), function(one) structure(as.vector(one), names = names(one)))
  for (name in intersect(names(kept), c("labels", USER_MISSING))) storage.mode(kept[[name]]) <- type
  storage.mode(x) <- type
  classes[classes == typeof(original)] <- type
  attributes(x) <- c(kept, list(class = if (public) classes else setdiff(classes, "haven_labelled_spss")))
  x
}

levels_of <- function(made, original, declared) {
  if (!is.null(declared)) return(as.character(unlist(declared)))
  levels(original)[levels(original) %in% as.character(unlist(made$levels))]
}

# A data frame, or a tibble of one. Not by data.frame(), which would change names that are no names of R.
table_from_python <- function(made, data, declared, public = NULL) {
  columns <- lapply(made, function(one) {
    from_python(one, data[[one$name]], declared[[one$name]]$levels, one$name %in% public)
  })
  names(columns) <- vapply(made, function(one) one$name, "")
  class <- c(if (inherits(data, "tbl_df")) c("tbl_df", "tbl"), "data.frame")
  structure(columns, class = class, row.names = .set_row_names(length(columns[[1L]])))
}

# Levels of a factor, or of text those that occur.
levels_in <- function(x) if (is.factor(x)) levels(x) else sort(unique(as.character(x)))
