"""What a budget will buy, told before anyone touches the data, by runs on stand-ins. Imports `league` and above."""
