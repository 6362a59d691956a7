// toLocaleString, toLocaleDateString and toLocaleTimeString of dates, as en-US writes them in UTC. The blank
// before AM and PM is a plain one.

const {
  Date, String, dateGetTime, dateGetUTCDate, dateGetUTCDay, dateGetUTCFullYear, dateGetUTCHours, dateGetUTCMinutes,
  dateGetUTCMonth, dateGetUTCSeconds, define, slice, toLowerCase,
} = internal.primordials;
const { toText } = internal.conversions;
const { ignore, ignoreOptions, optionsOf, quote, serve } = internal.locales;

const LOCALES = { __proto__: null, en: 1, "en-us": 1 };
const ZONES = { __proto__: null, utc: 1, gmt: 1, "etc/utc": 1, "etc/gmt": 1 };
const MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
  "November", "December"];
const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const FIELDS = ["weekday", "year", "month", "day", "hour", "minute", "second", "timeZoneName"];
const NOT_HERE = ["era", "dayPeriod", "fractionalSecondDigits", "calendar", "numberingSystem"];
const DATE_STYLES = {
  __proto__: null,
  full: { __proto__: null, weekday: "long", year: "numeric", month: "long", day: "numeric" },
  long: { __proto__: null, year: "numeric", month: "long", day: "numeric" },
  medium: { __proto__: null, year: "numeric", month: "short", day: "numeric" },
  short: { __proto__: null, year: "2-digit", month: "numeric", day: "numeric" },
};
const TIME_STYLES = {
  __proto__: null,
  full: { __proto__: null, hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "long" },
  long: { __proto__: null, hour: "numeric", minute: "2-digit", second: "2-digit", timeZoneName: "short" },
  medium: { __proto__: null, hour: "numeric", minute: "2-digit", second: "2-digit" },
  short: { __proto__: null, hour: "numeric", minute: "2-digit" },
};

const two = (number) => (number < 10 ? "0" : "") + String(number);
const sized = (number, how) => (how === "2-digit" ? two(number % 100) : String(number));
const named = (name, how) => (how === "long" ? name : slice(name, 0, how === "narrow" ? 1 : 3));

const fill = (fields, from) => {
  for (let i = 0; i < FIELDS.length; i++) {
    const value = from[FIELDS[i]];
    if (value !== undefined) fields[FIELDS[i]] = value;
  }
};

// Which fields are shown, and how; `kind` is what the method shows where nothing is said: all, date, time.
const fieldsOf = (options, kind) => {
  const fields = { __proto__: null };
  for (let i = 0; i < FIELDS.length; i++) {
    const value = options[FIELDS[i]];
    fields[FIELDS[i]] = value === undefined ? undefined : toText(value);
  }
  const dateStyle = options.dateStyle, timeStyle = options.timeStyle;
  if (dateStyle !== undefined || timeStyle !== undefined) {
    if (dateStyle !== undefined) fill(fields, DATE_STYLES[toText(dateStyle)] ?? DATE_STYLES.medium);
    if (timeStyle !== undefined) fill(fields, TIME_STYLES[toText(timeStyle)] ?? TIME_STYLES.medium);
    return fields;
  }
  const hasDate = (fields.weekday ?? fields.year ?? fields.month ?? fields.day) !== undefined;
  const hasTime = (fields.hour ?? fields.minute ?? fields.second) !== undefined;
  if (kind === "date" ? !hasDate : kind === "all" && !hasDate && !hasTime)
    fields.year = fields.month = fields.day = "numeric";
  if (kind === "time" ? !hasTime : kind === "all" && !hasDate && !hasTime)
    fields.hour = "numeric", fields.minute = fields.second = "2-digit";
  return fields;
};

const dateText = (date, { weekday, year, month, day }) => {
  const y = year === undefined ? "" : sized(dateGetUTCFullYear(date), year);
  const d = day === undefined ? "" : sized(dateGetUTCDate(date), day);
  const w = weekday === undefined ? "" : named(DAYS[dateGetUTCDay(date)], weekday);
  let text;
  if (month === undefined) {
    text = y && d ? y + " (day: " + d + ")" : y + d;
    return text && w ? text + " " + w : text + w;
  }
  if (month === "numeric" || month === "2-digit") {
    text = sized(dateGetUTCMonth(date) + 1, month) + (d && "/" + d) + (y && "/" + y);
    return w ? w + ", " + text : text;
  }
  text = named(MONTHS[dateGetUTCMonth(date)], month) + (d && " " + d) + (y && (d ? ", " : " ") + y);
  return w ? (d ? w + ", " + text : text + " " + w) : text;
};

const timeText = (date, { hour, minute, second, timeZoneName }, isTwelve) => {
  let text = "";
  const m = dateGetUTCMinutes(date), s = dateGetUTCSeconds(date);
  if (hour !== undefined) {
    const full = dateGetUTCHours(date), h = isTwelve ? full % 12 || 12 : full;
    text = hour === "2-digit" || !isTwelve ? two(h) : String(h);
    if (minute !== undefined) text += ":" + two(m);
    if (second !== undefined) text += ":" + two(s);
    if (isTwelve) text += full < 12 ? " AM" : " PM";
  } else if (minute !== undefined && second !== undefined) {
    text = two(m) + ":" + two(s);
  } else if (minute !== undefined || second !== undefined) {
    text = String(minute === undefined ? s : m);
  }
  if (timeZoneName === undefined) return text;
  return (text && text + " ") + (timeZoneName === "long" ? "Coordinated Universal Time" : "UTC");
};

const isTwelveHour = (options, where) => {
  if (options.hour12 !== undefined) return !!options.hour12;
  const cycle = options.hourCycle;
  if (cycle === undefined || cycle === "h12") return true;
  if (cycle !== "h23") ignore("hourCycle " + quote(cycle), where);
  return cycle === "h11";
};

const format = (date, locales, given, kind, where) => {
  const time = dateGetTime(date), options = optionsOf(given);
  serve(locales, LOCALES, where);
  const zone = options.timeZone;
  if (zone !== undefined && (typeof zone !== "string" || ZONES[toLowerCase(zone)] === undefined))
    ignore("timeZone " + quote(zone), where);
  ignoreOptions(options, NOT_HERE, where);
  const fields = fieldsOf(options, kind), isTwelve = isTwelveHour(options, where);
  if (time !== time) return "Invalid Date";
  const days = dateText(date, fields), clock = timeText(date, fields, isTwelve);
  if (!days || !clock) return days + clock;
  if (fields.month === "long") return days + " at " + clock;
  return days + ((fields.year ?? fields.month ?? fields.day) === undefined ? " " : ", ") + clock;
};

const methods = {
  toLocaleString(locales = undefined, options = undefined) {
    return format(this, locales, options, "all", "toLocaleString of a date");
  },
  toLocaleDateString(locales = undefined, options = undefined) {
    return format(this, locales, options, "date", "toLocaleDateString");
  },
  toLocaleTimeString(locales = undefined, options = undefined) {
    return format(this, locales, options, "time", "toLocaleTimeString");
  },
};
for (const name of ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"])
  define(Date.prototype, name, methods[name], false);
